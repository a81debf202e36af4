using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>Calls of which two need each other: alone on one thread, none of them ends.</summary>
[Workers(2)]
public class MeetingBenchmarks
{
    private static readonly Barrier Both = new(2);
    private static readonly SemaphoreSlim First = new(0);
    private static readonly SemaphoreSlim Second = new(0);
    private static int Arrived;

    [Benchmark]
    public int Barrier()
    {
        Both.SignalAndWait();
        return 1;
    }

    [Benchmark]
    public async Task<int> Exchange()
    {
        bool isFirst = Interlocked.Increment(ref Arrived) % 2 == 1;
        (isFirst ? First : Second).Release();
        await (isFirst ? Second : First).WaitAsync();
        return 1;
    }
}

using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>One benchmark without anything.</summary>
public class PlainBenchmarks
{
    private static readonly object Gate = new();
    private static long Counter;

    public static long Count => Counter;

    [Benchmark]
    public byte[] Allocate() => new byte[1_000];

    [Benchmark]
    public async Task<byte[]> KeptAcrossAwait()
    {
        byte[] bytes = new byte[1_000];
        await Task.Yield();
        return bytes;
    }

    [Benchmark]
    public long Locked()
    {
        lock (Gate)
        {
            return ++Counter;
        }
    }

    [Benchmark]
    public async Task<int> Throwing()
    {
        await Task.Yield();
        try
        {
            throw new InvalidOperationException("meant to happen");
        }
        catch (InvalidOperationException)
        {
            return 1;
        }
    }
}

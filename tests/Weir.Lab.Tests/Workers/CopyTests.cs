using System.Diagnostics;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Workers;

/// <summary>When the code of a workload is loaded several times.</summary>
public class CopyTests
{
    [Fact(Timeout = 300_000)]
    public async Task RunAsync_ShortOperationsInTurns_HasCopiesOnce()
    {
        Copied copied = new(static () => { });

        await RunAsync(copied, takesTurns: true);

        Assert.Equal([4], copied.Asked);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_NotInTurns_HasNone()
    {
        Copied copied = new(static () => { });

        await RunAsync(copied, takesTurns: false);

        Assert.Empty(copied.Asked);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_LongOperations_HasNone()
    {
        Copied copied = new(static () =>
        {
            long start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromMicroseconds(10))
            {
            }
        });

        await RunAsync(copied, takesTurns: true);

        Assert.Empty(copied.Asked);
    }

    private static Task RunAsync(IWorkload workload, bool takesTurns)
    {
        WorkerRunSpec spec = new() { Workload = "copied", Rounds = 2, Duration = TimeSpan.FromMilliseconds(5), TakesTurns = takesTurns };
        return new WorkerRunner(spec).RunAsync(workload).WithinAsync("the run");
    }

    private sealed class Copied(Action call) : ICopiedWorkload
    {
        public List<int> Asked { get; } = [];

        public ValueTask CopyAsync(int copies)
        {
            Asked.Add(copies);
            return default;
        }

        public Operation CreateOperation(WorkerContext context) => Operation.Of(call);
    }
}

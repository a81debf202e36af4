using Weir.Dataflow.Cores;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>As <see cref="AloneTests"/>, while all threads of the pool are held.</summary>
[Collection(nameof(WithoutOthers))]
public sealed class AloneStarvedTests : IDisposable
{
    private const int Limit = Eventually.Limit;

    private readonly long _short = ParallelState.ShortTicks;
    private readonly long _long = ParallelState.LongTicks;

    public AloneStarvedTests() => ParallelState.ShortTicks = ParallelState.LongTicks = long.MaxValue;

    public void Dispose() => (ParallelState.ShortTicks, ParallelState.LongTicks) = (_short, _long);

    [Theory(Timeout = Limit)]
    [InlineData(2)]
    [InlineData(8)]
    public async Task Call_BlocksWithNobodyElseAtWorkAndAStarvedPool_HoldsNothingUp(int degree)
    {
        using var pool = new StarvedPool();
        using var gate = new Probes.Gate();
        ParallelState? state = null;
        int held = 0;
        int after = 0;
        var block = new ActionBlock<int>(
            _ =>
            {
                if (Volatile.Read(ref held) != 0)
                {
                    Interlocked.Increment(ref after);
                }
                else if (Lone.Is(state) && state is { Busy: 1, Standby: 0 } && Interlocked.Exchange(ref held, 1) == 0)
                {
                    gate.Pass();
                }
            },
            new ExecutionDataflowBlockOptions
            {
                MaxDegreeOfParallelism = degree,
                TaskScheduler = new ThreadScheduler(),
            });
        state = Lone.StateOf(block);
        Lone.PostUntil(block, () => gate.Arrived > 0);
        int before = Volatile.Read(ref after);
        for (int i = 0; i < 100; i++)
        {
            Assert.True(block.Post(i));
        }

        Eventually.True(() => Volatile.Read(ref after) >= before + 100);
        gate.Open();
        block.Complete();
        await Eventually.Done(block.Completion);
        Assert.Equal(0, state.Busy);
    }
}

using Weir.Dataflow.Cores;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>
/// When one worker stops being alone. The watch's own thread may look as well, and have found what a test's look does not find any more: so each test ends what
/// it begins, and waits for the end.
/// </summary>
public class LeaderWatchTests
{
    private const int Enough = LeaderWatch.FewMessages;

    [Theory]
    [InlineData(true, 0)]
    [InlineData(true, Enough - 1)]
    [InlineData(false, 0)]
    public void Tick_LittleWasDoneOrItRests_EndsIt(bool busy, int claimed)
    {
        Block block = new(busy);
        Assert.True(LeaderWatch.Begin(block));
        block.Claimed = claimed;
        LeaderWatch.Tick();
        Eventually.Equal(1, () => block.Ends);
        Assert.False(block.Parallel.IsLed);
        LeaderWatch.Tick();
        Assert.Equal(1, block.Ends);
    }

    [Fact]
    public void Tick_GetsOn_GoesOnAlone()
    {
        Block block = new(busy: true) { Step = Enough };
        Assert.True(LeaderWatch.Begin(block));
        for (int i = 0; i < 3; i++)
        {
            LeaderWatch.Tick();
            Assert.True(block.Parallel.IsLed);
        }

        Assert.Equal(0, block.Helps);
        End(block);
    }

    [Fact]
    public void Tick_GotOnAndStandsStillNow_IsHelped()
    {
        Block block = new(busy: true);
        Assert.True(LeaderWatch.Begin(block));
        SpinWait.SpinUntil(
            () =>
            {
                block.Claimed += Enough;
                LeaderWatch.Tick();
                return block.Helps > 0 || block.Ends > 0;
            },
            Eventually.Patience);
        Assert.True(block.Helps > 0 || block.Ends > 0);
        End(block);
    }

    [Fact]
    public void Begin_WasEnded_IsWatchedAgain()
    {
        Block block = new(busy: true);
        Assert.True(LeaderWatch.Begin(block));
        LeaderWatch.Tick();
        Eventually.Equal(1, () => block.Ends);
        Assert.False(block.Parallel.IsWatched);
        Assert.True(block.Parallel.TryLead(1));
        Assert.True(LeaderWatch.Begin(block));
        LeaderWatch.Tick();
        Eventually.Equal(2, () => block.Ends);
    }

    private static void End(Block block)
    {
        block.Step = 0;
        LeaderWatch.Tick();
        LeaderWatch.Tick();
        Eventually.Equal(1, () => block.Ends);
        Assert.False(block.Parallel.IsWatched);
    }

    private sealed class Block : ILeaderBlock
    {
        private long _claimed;
        private int _ends;
        private int _helps;

        public Block(bool busy)
        {
            if (busy)
            {
                Assert.True(Parallel.TryJoin());
                Assert.True(Parallel.TryLead(1));
            }
        }

        public ParallelState Parallel { get; } = new(4);

        /// <summary>How much more is claimed at each look.</summary>
        public int Step { get; set; }

        public long Claimed
        {
            get => Interlocked.Add(ref _claimed, Step);
            set => Volatile.Write(ref _claimed, value);
        }

        public int Ends => Volatile.Read(ref _ends);

        public int Helps => Volatile.Read(ref _helps);

        public void AddStandby() => Interlocked.Increment(ref _helps);

        public void EndLead()
        {
            Parallel.TryEndLead(Parallel.Leader);
            Interlocked.Increment(ref _ends);
        }
    }
}

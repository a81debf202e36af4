using Weir.Dataflow.Cores;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>When one worker stops being alone. The watch's own timer may look as well, so each test ends what it begins.</summary>
public class AloneWatchTests
{
    private const int Enough = AloneWatch.FewMessages;

    [Theory]
    [InlineData(1, 0)]
    [InlineData(1, Enough - 1)]
    [InlineData(0, Enough)]
    public void Tick_LittleWasDoneOrItRests_EndsIt(int busy, int claimed)
    {
        Block block = new();
        block.Parallel.Now.Busy = busy;
        AloneWatch.Begin(block);
        block.Claimed = claimed;
        AloneWatch.Tick();
        Assert.Equal(Block.Most, block.Limit);
        AloneWatch.Tick();
        Assert.Equal(1, block.Ends);
    }

    [Fact]
    public void Tick_GetsOn_GoesOnAlone()
    {
        Block block = new() { Step = Enough };
        block.Parallel.Now.Busy = 1;
        AloneWatch.Begin(block);
        for (int i = 0; i < 3; i++)
        {
            AloneWatch.Tick();
            Assert.Equal(1, block.Limit);
        }

        // It rests.
        block.Parallel.Now.Busy = 0;
        AloneWatch.Tick();
        Assert.Equal(Block.Most, block.Limit);
        Assert.Equal(1, block.Ends);
    }

    [Fact]
    public void Tick_BlockHasEndedItItself_IsNotWatchedAnyMore()
    {
        Block block = new() { Step = 1_000_000 };
        block.Parallel.Now.Busy = 1;
        AloneWatch.Begin(block);
        AloneWatch.Begin(block);
        block.Parallel.Now.Limit = Block.Most;
        AloneWatch.Tick();
        Assert.False(block.Parallel.IsWatched);
        AloneWatch.Begin(block);
        Assert.Equal(1, block.Limit);
        block.Parallel.Now.Busy = 0;
        AloneWatch.Tick();
        Assert.Equal(Block.Most, block.Limit);
    }

    private sealed class Block : IWorksAlone
    {
        public const int Most = 4;

        private long _claimed;

        public ParallelState Parallel { get; } = new(Most);

        /// <summary>How much more is claimed at each look.</summary>
        public int Step { get; init; }

        public long Claimed
        {
            get => _claimed += Step;
            set => _claimed = value;
        }

        public int Limit => Volatile.Read(ref Parallel.Now.Limit);

        public int Ends { get; private set; }

        public void EndAlone()
        {
            Ends++;
            Parallel.Now.Limit = Most;
        }
    }
}

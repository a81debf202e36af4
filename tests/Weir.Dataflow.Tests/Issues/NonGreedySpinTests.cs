using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>dotnet/runtime 38629: a non-greedy batch that could not reserve tried again and again on a whole core.</summary>
public class NonGreedySpinTests
{
    [Theory]
    [InlineData(BlockKind.Batch)]
    [InlineData(BlockKind.Join2)]
    public void NonGreedy_ReservationRefused_DoesNotTryForever_38629(BlockKind kind)
    {
        Subject subject = new WeirBlocks().Create(kind, new BlockSettings { Greedy = false, BatchSize = 2 });
        ProbeSource<string>[] sources = [new() { GrantsReservation = false }, new() { GrantsReservation = false }];
        Assert.Equal(DataflowMessageStatus.Postponed, sources[0].OfferTo(subject.Inputs[0], 1, "a"));
        Assert.Equal(DataflowMessageStatus.Postponed, sources[1].OfferTo(subject.Inputs[^1], 1, "a"));
        Eventually.True(() => sources.Any(static s => s.Calls.Length > 0));
        Never.True(() => sources.Sum(static s => s.Calls.Length) > 4);
    }

    [Fact]
    public void NonGreedyBatch_Bounded_WaitsWithoutTurning_38629()
    {
        var scheduler = new ManualScheduler();
        var block = new BatchBlock<int>(2, new GroupingDataflowBlockOptions { Greedy = false, BoundedCapacity = 2, TaskScheduler = scheduler });
        ProbeSource<int>[] sources = [new(), new(), new(), new()];
        Assert.All(sources, s => s.OfferTo(block, 1, 5));
        for (int i = 0; i < 50; i++)
        {
            scheduler.RunAll();
        }

        Assert.InRange(scheduler.Queued, 0, 10);
        Assert.Equal(0, scheduler.Waiting);
        Assert.Equal(1, block.OutputCount);
    }
}

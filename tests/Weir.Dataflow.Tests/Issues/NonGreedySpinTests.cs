using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Issues;

/// <summary>dotnet/runtime 38629: a non-greedy batch that could not reserve tried again and again on a whole core.</summary>
public class NonGreedySpinTests
{
    [Fact]
    public void NonGreedyBatch_ReservationRefused_DoesNotTryForever_38629()
    {
        var block = new BatchBlock<int>(2, new GroupingDataflowBlockOptions { Greedy = false });
        ProbeSource<int>[] sources = [new() { GrantsReservation = false }, new() { GrantsReservation = false }];
        Assert.All(sources, s => Assert.Equal(DataflowMessageStatus.Postponed, s.OfferTo(block, 1, 5)));
        Eventually.True(() => sources.Any(static s => s.Calls.Length > 0));
        Never.True(() => sources.Sum(static s => s.Calls.Length) > 4);
    }

    [Fact]
    public void NonGreedyJoin_ReservationRefused_DoesNotTryForever_38629()
    {
        var block = new JoinBlock<int, int>(new GroupingDataflowBlockOptions { Greedy = false });
        ProbeSource<int>[] sources = [new() { GrantsReservation = false }, new() { GrantsReservation = false }];
        sources[0].OfferTo(block.Target1, 1, 5);
        sources[1].OfferTo(block.Target2, 1, 5);
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

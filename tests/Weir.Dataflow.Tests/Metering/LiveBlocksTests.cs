using System.Threading.Tasks.Dataflow;
using Weir.Observability;
using Weir.TestKit;

namespace Weir.Dataflow.Tests.Metering;

/// <summary>What a snapshot says of blocks. Other tests of the process have blocks in it too, so each test looks for its own names.</summary>
public class LiveBlocksTests
{
    [Fact(Timeout = 90_000)]
    public async Task Blocks_AreSeenWithTheirLinks_AlsoThoseWithoutAMessage()
    {
        using Gate gate = new();
        TransformBlock<int, int> parse = new(
            async x =>
            {
                await gate.WaitAsync(CancellationToken.None);
                return x;
            },
            new ExecutionDataflowBlockOptions { NameFormat = "snapshot.parse", MaxDegreeOfParallelism = 2, BoundedCapacity = 50 });
        ActionBlock<int> even = new(static _ => { }, new ExecutionDataflowBlockOptions { NameFormat = "snapshot.even" });
        ActionBlock<int> odd = new(static _ => { }, new ExecutionDataflowBlockOptions { NameFormat = "snapshot.odd" });
        parse.LinkTo(even, new DataflowLinkOptions { PropagateCompletion = true }, static x => x % 2 == 0);
        parse.LinkTo(odd, new DataflowLinkOptions { PropagateCompletion = true });
        for (int i = 0; i < 5; i++)
        {
            parse.Post(i);
        }

        LiveEntry seen = await EventuallyAsync("snapshot.parse", static entry => entry is { InFlight: 2, Waiting: 3 });
        Assert.Equal(("TransformBlock", 2, 50, 0), (seen.Type, seen.Limit, seen.Capacity, seen.Done));
        IReadOnlyList<LiveEntry> all = WeirDiagnostics.Snapshot().Entries;
        LiveEntry[] fed = [.. seen.Feeds!.Select(id => all.Single(entry => entry.Id == id))];
        Assert.Equal(["ActionBlock", "ActionBlock"], fed.Select(static entry => entry.Type));
        Assert.All(fed, entry => Assert.Equal(seen.Parent, entry.Parent));
        LiveEntry network = all.Single(entry => entry.Id == seen.Parent);
        Assert.Equal((LiveKind.Network, "3 blocks", LiveState.Running), (network.Kind, network.Type, network.State));

        gate.Open();
        parse.Complete();
        await Task.WhenAll(even.Completion, odd.Completion);
        Assert.DoesNotContain(WeirDiagnostics.Snapshot().Entries, static entry => entry.Name == "snapshot.parse");
    }

    private static async Task<LiveEntry> EventuallyAsync(string name, Func<LiveEntry, bool> holds)
    {
        while (true)
        {
            if (WeirDiagnostics.Snapshot().Entries.SingleOrDefault(entry => entry.Name == name) is { } entry && holds(entry))
            {
                return entry;
            }

            await Task.Yield();
        }
    }
}

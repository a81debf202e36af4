using Weir.Cli.Profiling;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Who awaits whom, from events as the runtime writes them.</summary>
public class AwaitChainsTests
{
    private readonly AwaitChains _chains = new();

    [Fact]
    public void Most_OfAChain_CountsItsTimeOnceForTheInnermost()
    {
        // 3 awaits 4, 2 awaits 3, 1 awaits 2, and the lab awaits 1.
        _chains.Name(4, "Task.Delay");
        _chains.Begin(4, by: 3, "N.C.Inner", at: 1);
        _chains.Begin(3, by: 2, "N.C.Middle", at: 1);
        _chains.Begin(2, by: 1, "N.C.Outer", at: 1);
        _chains.Begin(1, by: 9, null, at: 1);
        _chains.End(4, at: 3);
        _chains.End(3, at: 3);
        _chains.End(2, at: 3);
        _chains.End(1, at: 3);

        Assert.Equal([new ProfileAwait("N.C.Outer;N.C.Middle;N.C.Inner;a delay", 1, 2)], _chains.Most(10));
    }

    [Fact]
    public void Most_OfSeveral_HasTheLongestFirstAndAddsUpTheSame()
    {
        for (int i = 0; i < 3; i++)
        {
            _chains.Begin(10 + i, by: 100 + i, "N.C.Short", at: i);
            _chains.End(10 + i, at: i + 0.5);
        }

        _chains.Name(5, "Task.WhenAll");
        _chains.Begin(5, by: 6, "N.C.Long", at: 0);
        _chains.End(5, at: 4);

        Assert.Equal(
            [new ProfileAwait("N.C.Long;Task.WhenAll", 1, 4), new ProfileAwait("N.C.Short;a task that others complete", 3, 1.5)], _chains.Most(10));
        Assert.Single(_chains.Most(1));
    }

    [Fact]
    public void End_OfWhatTheLabAwaitsOrNobody_IsNoChain()
    {
        _chains.Begin(1, by: 2, null, at: 0);
        _chains.Begin(3, by: 0, "N.C.Sync", at: 0);
        _chains.End(1, at: 1);
        _chains.End(3, at: 1);
        _chains.End(7, at: 1);

        Assert.Empty(_chains.Most(10));
    }

    [Fact]
    public void End_OfTasksThatAwaitEachOther_Ends()
    {
        _chains.Begin(1, by: 2, "N.C.A", at: 0);
        _chains.Begin(2, by: 3, "N.C.B", at: 0);
        _chains.Begin(3, by: 2, "N.C.A", at: 0);
        _chains.End(1, at: 1);

        Assert.Equal([new ProfileAwait("N.C.B;N.C.A;a task that others complete", 1, 1)], _chains.Most(10));
    }
}

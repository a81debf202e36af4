namespace Weir.Explore.Tests;

/// <summary>Races that are found, and their mended versions, which are exhausted.</summary>
public class RaceTests
{
    [Fact]
    public void CheckThenAct_IsFound_WithOnePreemption()
    {
        ExploreResult result = Explore.Search(async () =>
        {
            Once once = new();
            await Task.WhenAll(Task.Run(once.Run), Task.Run(once.Run));
            Assert.Equal(1, once.Runs);
        });
        Assert.Equal(FailureKind.Exception, result.Failure!.Kind);
        Assert.True(result.Failure.Preemptions <= 1, result.Failure.ToString());
        Assert.Contains(result.Failure.Steps, static s => s.Contains("RaceTests.cs:", StringComparison.Ordinal));
    }

    [Fact]
    public void CheckThenAct_WithALock_IsExhausted()
    {
        ExploreResult result = Explore.Run(async () =>
        {
            Once once = new();
            await Task.WhenAll(Task.Run(once.RunLocked), Task.Run(once.RunLocked));
            Assert.Equal(1, once.Runs);
        });
        Assert.True(result.IsExhausted);
        Assert.Equal(2, result.ExhaustedPreemptions);
    }

    /// <summary>Both are exhausted, and each thread counts to one at a time there. Only the second one is right.</summary>
    [Fact]
    public void Exhausted_WithPlainFields_SaysHowManyAccessesWereNoPoints()
    {
        ExploreResult plain = Explore.Run(async () =>
        {
            Once once = new();
            await Task.WhenAll(Task.Run(once.Count), Task.Run(once.Count));
        });
        Assert.True(plain.IsExhausted);
        Assert.Equal(4, plain.PlainAccesses);
        Assert.True(plain.UnorderedAccesses > 0, plain.ToString());
        Assert.EndsWith(
            $"; 4 accesses of shared plain fields were no points, and nothing orders {plain.UnorderedAccesses} of them (see DataRaces)", plain.ToString(),
            StringComparison.Ordinal);

        ExploreResult locked = Explore.Run(async () =>
        {
            Once once = new();
            await Task.WhenAll(Task.Run(once.CountLocked), Task.Run(once.CountLocked));
        });
        Assert.Equal((4, 0), (locked.PlainAccesses, locked.UnorderedAccesses));
        Assert.EndsWith("; 4 accesses of shared plain fields were no points, and are in order", locked.ToString(), StringComparison.Ordinal);

        ExploreResult points = Explore.Run(async () =>
        {
            Once once = new();
            await Task.WhenAll(Task.Run(once.Count), Task.Run(once.Count));
        }, new ExploreOptions { PointsAtFieldsOf = [typeof(Once)] });
        Assert.Equal(0, points.PlainAccesses);
        Assert.EndsWith("; no plain field is shared", points.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void NotExhausted_CountsNoPlainAccesses() => Assert.Null(Explore.Run(async () =>
    {
        Once once = new();
        await Task.WhenAll(Task.Run(once.Count), Task.Run(once.Count));
    }, new ExploreOptions { MaxSchedules = 1 }).PlainAccesses);

    private sealed class Once
    {
        private readonly System.Threading.Lock _lock = new();
        private volatile bool _ran;
        private int _runs;

        public int Runs => _runs;

        public void Run()
        {
            if (!_ran)
            {
                _ran = true;
                Interlocked.Increment(ref _runs);
            }
        }

        public void Count() => _runs++;

        public void CountLocked()
        {
            lock (_lock)
            {
                _runs++;
            }
        }

        public void RunLocked()
        {
            lock (_lock)
            {
                Run();
            }
        }
    }
}

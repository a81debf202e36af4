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

        public void RunLocked()
        {
            lock (_lock)
            {
                Run();
            }
        }
    }
}

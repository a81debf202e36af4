namespace Weir.Explore.Tests;

/// <summary>The same search has the same schedules, whatever comes in between.</summary>
public class RepeatTests
{
    private const string Runs = "Weir.Explore.Tests.Runs";
    private const string Period = "Weir.Explore.Tests.Period";

    /// <summary>
    /// The first search meets the class in the middle of a schedule. Its work item can begin there, and in later schedules at once: so this program is one of
    /// its own, by its points.
    /// </summary>
    [Fact]
    public void Search_ThatMeetsAClass_IsThatOfOneThatKnowsIt() => Assert.True(Same(
        static async () =>
        {
            int value = 0;
            await Task.Run(() =>
            {
                Interlocked.Increment(ref value);
                Volatile.Write(ref Met.Value, 1);
            });
        },
        new ExploreOptions { MaxPreemptions = 1, StoreBuffers = true, PointsAtFieldsOf = [typeof(Met)] }).IsExhausted);

    /// <summary>A collection shows the stores that are in buffers. The first search has none, and each later one has it in other schedules.</summary>
    [Theory]
    [InlineData(ExploreStrategy.Bounded)]
    [InlineData(ExploreStrategy.Pct)]
    [InlineData(ExploreStrategy.Random)]
    public void Search_WithCollections_FindsTheSame(ExploreStrategy strategy)
    {
        for (int seed = 1; seed <= 10; seed++)
        {
            Assert.NotNull(Same(Body, new ExploreOptions { Strategy = strategy, Seed = seed, MaxSchedules = 2_000, StoreBuffers = true }).Failure);
        }

        static async Task Body()
        {
            Two two = new();
            int seen = 0;
            Task other = Task.Run(() =>
            {
                two.First = 1;
                CollectInSomeRuns();
                Interlocked.Add(ref seen, two.Second);
            });
            two.Second = 1;
            Interlocked.Add(ref seen, two.First);
            await other;
            Assert.InRange(seen, 1, 2);
        }
    }

    private static ExploreResult Same(Func<Task> body, ExploreOptions options)
    {
        AppContext.SetData(Period, 1);
        ExploreResult first = Explore.Search(body, options);
        for (int period = 2; period < 6; period++)
        {
            AppContext.SetData(Period, period);
            ExploreResult again = Explore.Search(body, options);
            Assert.Equal((first.Schedules, first.Points, first.Choices), (again.Schedules, again.Points, again.Choices));
            Assert.Equal((first.IsExhausted, first.ExhaustedPreemptions), (again.IsExhausted, again.ExhaustedPreemptions));
            Assert.Equal((first.Failure?.FoundAt, first.Failure?.Schedule), (again.Failure?.FoundAt, again.Failure?.Schedule));
        }

        return first;
    }

    private static void CollectInSomeRuns()
    {
        // The process's own state, which no schedule puts back.
        int runs = AppContext.GetData(Runs) is int before ? before + 1 : 1;
        AppContext.SetData(Runs, runs);
        if (AppContext.GetData(Period) is int and > 1 and int period && runs % period == 0)
        {
            GC.Collect(0);
        }
    }

    private static class Met
    {
        public static readonly Task Started = Task.Run(static () => Interlocked.Increment(ref Value));
        public static int Value;
    }

    private sealed class Two
    {
        public volatile int First;
        public volatile int Second;
    }
}

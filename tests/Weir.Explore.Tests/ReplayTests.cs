namespace Weir.Explore.Tests;

/// <summary>A schedule that failed fails each time, and is shrunk.</summary>
public class ReplayTests
{
    [Theory]
    [InlineData(ExploreStrategy.Bounded, Explicit = true)]
    [InlineData(ExploreStrategy.Pct)]
    [InlineData(ExploreStrategy.Random, Explicit = true)]
    public void Failure_Replayed_FailsAHundredTimes(ExploreStrategy strategy)
    {
        ExploreOptions options = new() { Strategy = strategy };
        ExploreFailure failure = Explore.Search(LostUpdateAsync, options).Failure!;
        Assert.Equal(1, failure.Preemptions);
        for (int i = 0; i < 100; i++)
        {
            ExploreResult again = Explore.Search(LostUpdateAsync, options, failure.Schedule);
            Assert.Equal(failure.Steps, again.Failure!.Steps);
            Assert.Equal(1, again.Schedules);
        }
    }

    [Fact]
    public void Schedule_OfAnotherTest_IsNotReplayed() => Assert.True(Explore.Search(static () => Task.CompletedTask, null, "other:0.1").IsExhausted);

    [Theory]
    [InlineData("nothing")]
    [InlineData("name:1.300")]
    [InlineData("name:ax1")]
    public void Schedule_ThatIsNone_IsRefused(string text)
    {
        FormatException error = Assert.Throws<FormatException>(() => Searching.ScheduleText.TryRead(text, "name", out _));
        Assert.Contains("WEIR_SCHEDULE", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Schedule_AsText_IsReadAgain()
    {
        byte[] choices = [0, 0, 0, 2, 1, 1, 0, 7];
        string text = Searching.ScheduleText.Write("name", choices);
        Assert.Equal("name:3x0.2.2x1.0.7", text);
        Assert.True(Searching.ScheduleText.TryRead(text, "name", out byte[] read));
        Assert.Equal(choices, read);
    }

    [Fact]
    public void Program_ThatIsNotTheSameTwice_IsRefused()
    {
        ExploreException error = Assert.Throws<ExploreException>(static () => Explore.Run(static async () =>
        {
            // The process's own state, which no schedule puts back.
            int times = AppContext.GetData("Weir.Explore.Tests") is int before ? before + 1 : 1;
            AppContext.SetData("Weir.Explore.Tests", times);
            int value = 0;
            await Task.WhenAll(Enumerable.Range(0, times % 3 + 1).Select(_ => Task.Run(() => Interlocked.Increment(ref value))));
        }));
        Assert.Contains("did not do the same again", error.Message, StringComparison.Ordinal);
    }

    private static async Task LostUpdateAsync()
    {
        int[] value = [0];
        await Task.WhenAll(Task.Run(Add), Task.Run(Add), Task.Run(static () => Task.CompletedTask));
        Assert.Equal(2, value[0]);

        void Add()
        {
            int before = Volatile.Read(ref value[0]);
            Volatile.Write(ref value[0], before + 1);
        }
    }
}

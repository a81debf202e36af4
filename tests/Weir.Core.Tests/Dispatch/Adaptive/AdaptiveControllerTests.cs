using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>How samples become windows, and windows changes.</summary>
public class AdaptiveControllerTests
{
    private readonly ManualTimeProvider _clock = new();

    [Fact]
    public void Record_AsManyAsTheLimitAllows_EndsTheWindow()
    {
        AdaptiveController controller = Controller(initial: 40, AdaptiveConcurrencyStrategy.AIMD);

        // Half as many for the first sight of the server.
        Feed(controller, 19);
        Assert.Equal((0, 40), (controller.Windows, controller.Limit));
        Feed(controller, 1);
        Assert.Equal((1, 41), (controller.Windows, controller.Limit));

        // After a small step, the calls that began before it count as well.
        Feed(controller, 40);
        Assert.Equal((1, 41), (controller.Windows, controller.Limit));
        Feed(controller, 1);
        Assert.Equal((2, 42), (controller.Windows, controller.Limit));

        // After a large one they do not: 42 calls of the limit before, then 21 of its own.
        Feed(controller, 42, succeeded: false);
        Assert.Equal((3, 21), (controller.Windows, controller.Limit));
        Feed(controller, 62);
        Assert.Equal((3, 21), (controller.Windows, controller.Limit));
        Feed(controller, 1);
        Assert.Equal((4, 22), (controller.Windows, controller.Limit));
    }

    [Fact]
    public void Record_SampleIntervalAfterTheFirst_EndsTheWindowWithFewer()
    {
        AdaptiveController controller = Controller(initial: 40, AdaptiveConcurrencyStrategy.AIMD);
        _clock.Advance(TimeSpan.FromSeconds(30));
        Feed(controller, 2);
        _clock.Advance(TimeSpan.FromSeconds(0.9));
        Feed(controller, 1);
        Assert.Equal(0, controller.Windows);
        _clock.Advance(TimeSpan.FromSeconds(0.1));
        Feed(controller, 1);
        Assert.Equal((1, 41), (controller.Windows, controller.Limit));
    }

    [Fact]
    public void Record_Failures_CountAgainstTheSuccessRateOnly()
    {
        AdaptiveController controller = Controller(initial: 40, AdaptiveConcurrencyStrategy.AIMD);
        Feed(controller, 18);
        Feed(controller, 2, succeeded: false);
        Assert.Equal(41, controller.Limit);
        Feed(controller, 31);
        Feed(controller, 10, succeeded: false);
        Assert.Equal(20, controller.Limit);
        AdaptiveController tolerant = Controller(initial: 40, AdaptiveConcurrencyStrategy.AIMD, static s => s with { MinSuccessRate = 0.9 });
        Feed(tolerant, 18);
        Feed(tolerant, 2, succeeded: false);
        Assert.Equal(41, tolerant.Limit);
    }

    [Theory]
    [InlineData(0.95, 1, 41)]
    [InlineData(0.95, 2, 41)]
    [InlineData(0.95, 8, 20)]
    [InlineData(0.5, 10, 41)]
    [InlineData(0.5, 11, 41)]
    [InlineData(0.5, 18, 20)]
    [InlineData(1.0, 1, 20)]
    public void Record_SlowCalls_AreBadBeyondThePercentile(double percentile, int slow, int expected)
    {
        AdaptiveController controller = Controller(
            initial: 40,
            AdaptiveConcurrencyStrategy.AIMD,
            s => s with { TargetLatency = TimeSpan.FromMilliseconds(15), TargetPercentile = percentile });
        Feed(controller, slow, latency: 16);
        Feed(controller, 20 - slow, latency: 15);
        Assert.Equal((1, expected), (controller.Windows, controller.Limit));
    }

    [Fact]
    public void Record_OneCallThatHangs_DoesNotDecideAlone()
    {
        AdaptiveController controller =
            Controller(initial: 40, AdaptiveConcurrencyStrategy.Gradient, static s => s with { Increase = AdaptiveConcurrencyStrategy.AIMD });
        FeedWindow(controller);
        int limit = controller.Limit;
        Feed(controller, 63);
        Feed(controller, 1, latency: 100_000);
        Assert.Equal(2, controller.Windows);
        Assert.InRange(controller.Limit, limit, limit + 1);
    }

    // A window has 32 samples: too many for a scenario of the explorer.
    [Fact(Timeout = 90_000)]
    public async Task Record_FromManyThreads_ClosesEachWindowOnce()
    {
        AdaptiveController controller = Controller(initial: 32, AdaptiveConcurrencyStrategy.AIMD, static s => s with { Max = 32, Min = 32 });
        const int Each = 20_000;
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() => Feed(controller, Each))));

        // Samples are dropped while a window is being closed, and never counted twice.
        Assert.InRange(controller.Windows, 1, (4 * Each / 32) + 1);
        Assert.Equal(32, controller.Limit);
    }

    [Fact]
    public void Measures_SamplesThatComeFastOrSlowly_AreFewerOrAll()
    {
        AdaptiveController controller = Controller(initial: 16, AdaptiveConcurrencyStrategy.AIMD, static s => s with { Max = 16 });
        Assert.Equal(8_000, Measured());
        FeedEvery(TimeSpan.FromMicroseconds(1));
        Assert.InRange(Measured(), 8_000 / 40, 8_000 / 25);

        // What lies between 4 and 16 us changes nothing, so that it does not go to and fro.
        FeedEvery(TimeSpan.FromMicroseconds(8));
        Assert.InRange(Measured(), 8_000 / 40, 8_000 / 25);
        FeedEvery(TimeSpan.FromMilliseconds(1));
        Assert.Equal(8_000, Measured());

        int Measured() => Enumerable.Range(0, 8_000).Count(index => controller.Measures(index));

        void FeedEvery(TimeSpan time)
        {
            for (int i = 0; i < 300; i++)
            {
                _clock.Advance(time);
                Feed(controller, 1);
            }
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task OnChange_SlowCallback_GetsTheChangesInOrderWithoutGaps()
    {
        List<(int Old, int New)> told = [];
        TaskCompletionSource first = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource release = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource second = new(TaskCreationOptions.RunContinuationsAsynchronously);
        AdaptiveController controller = Controller(initial: 40, AdaptiveConcurrencyStrategy.AIMD, s => s with
        {
            OnChange = async (before, after) =>
            {
                told.Add((before, after));
                if (told.Count == 1)
                {
                    first.SetResult();
                    await release.Task;
                    throw new FormatException("Not the run's business.");
                }

                second.SetResult();
            },
        });
        FeedWindow(controller);
        await first.Task;
        FeedWindow(controller);
        FeedWindow(controller);
        FeedWindow(controller);
        Assert.Equal([(40, 41)], told);
        release.SetResult();
        await second.Task;
        Assert.Equal([(40, 41), (41, 44)], told);
    }

    [Fact(Timeout = 90_000)]
    public async Task OnChange_CallbackThatThrowsAtOnce_IsCalledAgain()
    {
        TaskCompletionSource second = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using SemaphoreSlim calls = new(0);
        AdaptiveController controller = Controller(initial: 40, AdaptiveConcurrencyStrategy.AIMD, s => s with
        {
            OnChange = (_, after) =>
            {
                calls.Release();
                return after == 42 ? throw new FormatException() : throw new InvalidOperationException();
            },
        });
        FeedWindow(controller);
        await calls.WaitAsync(TestContext.Current.CancellationToken);
        FeedWindow(controller);
        await calls.WaitAsync(TestContext.Current.CancellationToken);
        Assert.Equal(42, controller.Limit);
    }

    private AdaptiveController Controller(
        int initial, AdaptiveConcurrencyStrategy strategy, Func<AdaptiveSettings, AdaptiveSettings>? change = null)
    {
        AdaptiveSettings settings = new()
        {
            Min = 1,
            Max = 200,
            Initial = initial,
            SampleInterval = TimeSpan.FromSeconds(1),
            Increase = strategy,
            Decrease = strategy,
            TimeProvider = _clock,
        };
        return new AdaptiveController(change?.Invoke(settings) ?? settings);
    }

    private void FeedWindow(AdaptiveController controller)
    {
        for (int windows = controller.Windows; controller.Windows == windows;)
        {
            Feed(controller, 1);
        }
    }

    private void Feed(AdaptiveController controller, int count, double latency = 10, bool succeeded = true)
    {
        long now = _clock.GetTimestamp();
        for (int i = 0; i < count; i++)
        {
            controller.Record(now - TimeSpan.FromMilliseconds(latency).Ticks, now, controller.Limit, succeeded);
        }
    }
}

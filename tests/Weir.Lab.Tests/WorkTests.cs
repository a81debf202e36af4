using System.Diagnostics;
using Weir.Lab.Work;

namespace Weir.Lab.Tests;

public class WorkTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(1000)]
    [InlineData(123_457)]
    public void Expect_AnySeed_IsWhatRunGives(long steps)
    {
        CalibratedSpin spin = new(steps);

        int[] seeds = [0, 1, 2, 499_999, int.MaxValue, -1];
        Assert.All(seeds, seed => Assert.Equal(spin.Expect(seed), spin.Run(seed)));
    }

    [Fact]
    public void Run_DifferentSeedsOrSteps_GivesDifferentResults()
    {
        Assert.NotEqual(new CalibratedSpin(1000).Run(1), new CalibratedSpin(1000).Run(2));
        Assert.NotEqual(new CalibratedSpin(1000).Run(1), new CalibratedSpin(1001).Run(1));
    }

    [Fact]
    public void Of_Length_TakesThatShareOfTheSpeed()
    {
        Assert.Equal(20_000, CalibratedSpin.Of(TimeSpan.FromMicroseconds(10), 2e9).Steps);
        Assert.Equal(1, CalibratedSpin.Of(TimeSpan.Zero, 2e9).Steps);
    }

    [Fact(Timeout = 300_000)]
    public async Task MeasureStepsPerSecond_ThisMachine_IsPlausible()
    {
        // One step is a multiplication and an addition that wait for each other: 3 to 10 cycles on any processor of this century.
        double speed = await Task.Run(CalibratedSpin.MeasureStepsPerSecond);

        Assert.InRange(speed, 1e7, 1e10);
    }

    [Fact(Timeout = 300_000)]
    public async Task WaitAsync_ManyAtOnce_NeverEndsEarly()
    {
        TimeSpan length = TimeSpan.FromMilliseconds(2);
        using WaitThread waits = new(length);

        TimeSpan[] lengths = await Task.WhenAll(Enumerable.Range(0, 200).Select(async _ =>
        {
            long start = Stopwatch.GetTimestamp();
            await waits.WaitAsync();
            return Stopwatch.GetElapsedTime(start);
        }));

        Assert.All(lengths, actual => Assert.True(actual >= length, $"{actual}"));
    }

    [Fact(Timeout = 300_000)]
    public async Task WaitAsync_Continuation_RunsOnThePool()
    {
        using WaitThread waits = new(TimeSpan.FromMilliseconds(1));

        bool onPool = await waits.WaitAsync().ContinueWith(
            static _ => Thread.CurrentThread.IsThreadPoolThread, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);

        Assert.True(onPool);
    }

    [Fact(Timeout = 300_000)]
    public async Task WaitAsync_Cancelled_EndsAtOnceWithTheToken()
    {
        using WaitThread waits = new(TimeSpan.FromHours(1));
        using CancellationTokenSource stop = new();
        Task wait = waits.WaitAsync(stop.Token);

        await stop.CancelAsync();

        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait);
        Assert.Equal(stop.Token, error.CancellationToken);
    }

    [Fact(Timeout = 300_000)]
    public async Task Dispose_WaitsUnderWay_CancelsThem()
    {
        WaitThread waits = new(TimeSpan.FromHours(1));
        Task wait = waits.WaitAsync();

        waits.Dispose();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => waits.WaitAsync());
    }

    [Fact(Timeout = 300_000)]
    public async Task MeasureAsync_Median_IsNotShorterThanAsked()
    {
        using WaitThread waits = new(TimeSpan.FromMilliseconds(1));

        Assert.True(await waits.MeasureAsync(5) >= waits.Length);
    }
}

using Weir.Core.Dispatch;
using Weir.TestKit;

namespace Weir.Core.Tests.Dispatch;

/// <summary>How long code warms up.</summary>
public class TieringMonitorTests
{
    private readonly ManualTimeProvider _clock = new();

    [Fact]
    public void IsTurnToLearn_ManyCalls_IsNowAndThen()
    {
        TieringMonitor youth = new(_clock);
        int lessons = Enumerable.Range(0, 1600).Count(_ => youth.IsProfilingCall());
        Assert.Equal(100, lessons);
        Assert.False(youth.IsOver);
    }

    [Fact]
    public void IsOver_ManyCallsForLessThanHalfASecond_IsNot()
    {
        TieringMonitor youth = new(_clock);
        Call(youth, periods: 30, calls: 10_000);
        Assert.False(youth.IsOver);
    }

    [Fact]
    public void IsOver_ManyCallsForASecond_Is()
    {
        TieringMonitor youth = new(_clock);
        Call(youth, periods: 64, calls: 1000);
        Assert.True(youth.IsOver);
    }

    [Fact]
    public void IsOver_FewCallsHoweverLong_IsNot()
    {
        TieringMonitor youth = new(_clock);

        // The runtime counts calls of what it compiles anew: with so few it has not begun to.
        Call(youth, periods: 39, calls: 1000);
        _clock.Advance(TimeSpan.FromHours(1));
        Call(youth, periods: 1, calls: 16);
        Assert.False(youth.IsOver);
    }

    private void Call(TieringMonitor youth, int periods, int calls)
    {
        for (int period = 0; period < periods; period++)
        {
            for (int i = 0; i < calls; i++)
            {
                youth.IsProfilingCall();
            }

            _clock.Advance(TimeSpan.FromSeconds(1) / 60);
        }
    }
}

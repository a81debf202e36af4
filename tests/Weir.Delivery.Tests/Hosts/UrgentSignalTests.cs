namespace Weir.Delivery.Tests.Hosts;

public class UrgentSignalTests
{
    [Fact]
    public void Set_SeveralTimesBeforeTheWait_CountsAsOne()
    {
        UrgentSignal signal = new();
        signal.Set();
        signal.SetUrgently();

        Assert.True(signal.WaitAsync().IsCompletedSuccessfully);
        Assert.False(signal.WaitAsync().IsCompleted);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Set_WhileSomebodyWaits_WakesItOnce(bool isUrgent)
    {
        UrgentSignal signal = new();
        for (int i = 0; i < 1000; i++)
        {
            ValueTask wait = signal.WaitAsync();
            Assert.False(wait.IsCompleted);
            if (isUrgent)
            {
                signal.SetUrgently();
            }
            else
            {
                signal.Set();
            }

            await wait;
        }

        Assert.False(signal.WaitAsync().IsCompleted);
    }
}

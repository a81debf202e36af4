namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>How many items a source takes, by what it has acknowledged.</summary>
public sealed class DeliveryPaceTests
{
    private static readonly TimeSpan Time = TimeSpan.FromMinutes(15);

    private readonly ManualTimeProvider _clock = new();

    [Fact]
    public void HasRoom_NothingDoneYet_ForTwoMessagesAndLaterForMore()
    {
        var pace = new DeliveryPace(_clock, least: 32);
        pace.Begin(256);
        Assert.True(pace.HasRoom(Time));
        pace.Begin(256);
        Assert.False(pace.HasRoom(Time));
        _clock.Advance(Time / 8);
        Assert.True(pace.HasRoom(Time));
        pace.Begin(256);
        Assert.False(pace.HasRoom(Time));
    }

    [Fact]
    public void HasRoom_AtAKnownPace_ForWhatIsDoneInTime()
    {
        var pace = new DeliveryPace(_clock, least: 32);
        pace.Begin(512);
        _clock.Advance(TimeSpan.FromSeconds(256));
        pace.End(256);
        pace.Begin(643);
        Assert.True(pace.HasRoom(Time));
        pace.Begin(1);
        Assert.False(pace.HasRoom(Time));
    }

    [Fact]
    public void HasRoom_ItemsLongerThanTheTime_ForTheLeastInAnyCase()
    {
        var pace = new DeliveryPace(_clock, least: 32);
        pace.Begin(32);
        Assert.True(pace.HasRoom(Time));
        _clock.Advance(2 * Time);
        pace.End(1);
        Assert.True(pace.HasRoom(Time));
        pace.Begin(1);
        Assert.False(pace.HasRoom(Time));
    }
}

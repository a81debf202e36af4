namespace Weir.RabbitMQ;

/// <summary>
/// Measures how many items are acknowledged in a second, and so says whether one more message would still be acknowledged in time. Guarded by the lock of the
/// source.
/// </summary>
/// <param name="clock">The clock.</param>
/// <param name="least">How many items may be open in any case. Items that take very long would bring the measured number below the concurrency.</param>
internal sealed class DeliveryPace(TimeProvider clock, int least)
{
    // Two full messages, so that one slow item does not hold up everything before the first acknowledgement; and one more for each eighth of the time. More
    // would save a host that runs more items at once than this the time of one item, once: 4,096 items of 200 ms at once took 480 ms, and 280 with 4,096 here.
    // But 16 workers would then be late, by half of the broker's 30 minutes, from items of 3.5 s on, and not of 28 s.
    private const int FirstItems = 512;
    private const int MoreItems = 256;
    private const int Steps = 8;
    private const double Memory = 0.9;
    private int _open;
    private long _since;
    private double _items;
    private double _seconds;

    public void Begin(int items)
    {
        if (_open == 0)
        {
            _since = clock.GetTimestamp();
        }

        _open += items;
    }

    public void End(int items)
    {
        _open -= items;
        _items = (_items * Memory) + items;
        _seconds = (_seconds * Memory) + clock.GetElapsedTime(_since).TotalSeconds;
        _since = clock.GetTimestamp();
    }

    /// <summary>Whether the items that are open would be done within a time, at the pace so far. The time since the last one counts too.</summary>
    public bool HasRoom(TimeSpan time)
    {
        double sinceLast = clock.GetElapsedTime(_since).TotalSeconds;
        return _open < Math.Max(least, 1)
            || (_items > 0
                ? _open * (_seconds + sinceLast) < _items * time.TotalSeconds
                : _open < FirstItems + (MoreItems * Math.Floor(Steps * sinceLast / time.TotalSeconds)));
    }
}

namespace Weir.Core.Dispatch;

/// <summary>The mean latency of a window's calls, and how far it can be trusted.</summary>
/// <remarks>
/// Calls that end at the same moment are one observation, not many: whatever wakes them all, a timer tick or a reply to a whole batch, makes all of them
/// late or early together, so how little they differ says nothing. The error is therefore that of the moments' means.
/// </remarks>
internal struct WindowMean
{
    /// <summary>Calls that end within this fraction of the mean latency count as ending at the same moment.</summary>
    private const double Moment = 0.03;

    private int _count;
    private int _moments;
    private double _sum;

    // The moments that are complete: their weight, their mean and the weighted squares of their distances from it.
    private double _weight;
    private double _mean;
    private double _squares;

    // The moment that is being collected.
    private long _since;
    private int _momentCount;
    private double _momentSum;

    /// <summary>The mean; 0 without a call.</summary>
    public readonly double Value => _count == 0 ? 0 : _sum / _count;

    /// <summary>Adds calls that have ended together, in the order in which they ended.</summary>
    public void Add(double latency, int count, long ended)
    {
        if (_momentCount > 0 && ended - _since > Moment * Value)
        {
            CloseMoment();
        }

        if (_momentCount == 0)
        {
            _since = ended;
        }

        _momentCount += count;
        _momentSum += latency * count;
        _count += count;
        _sum += latency * count;
    }

    /// <summary>The standard error of the mean, relative to it.</summary>
    /// <param name="moments">The number of moments at which calls have ended.</param>
    public double Error(out int moments)
    {
        if (_momentCount > 0)
        {
            CloseMoment();
        }

        moments = _moments;
        if (moments == 0)
        {
            return 0;
        }

        double spread = moments < 2 ? 0 : Math.Sqrt(_squares / _weight * moments / (moments - 1)) / _mean;

        // So few values do not show how far they spread.
        return (moments < AdaptiveWindow.FewMoments ? Math.Max(0.5, spread) : spread) / Math.Sqrt(moments);
    }

    private void CloseMoment()
    {
        double value = _momentSum / _momentCount;
        double distance = value - _mean;
        _weight += _momentCount;
        _mean += distance * _momentCount / _weight;
        _squares += _momentCount * distance * (value - _mean);
        _moments++;
        _momentCount = 0;
        _momentSum = 0;
    }
}

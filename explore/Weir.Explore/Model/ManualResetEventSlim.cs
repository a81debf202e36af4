namespace Weir.Explore.Model;

[Replaces("System.Threading.ManualResetEventSlim")]
internal sealed class ManualResetEventSlim(bool initialState) : IDisposable
{
    private bool _isSet = initialState;

    public ManualResetEventSlim()
        : this(false)
    {
    }

    public ManualResetEventSlim(bool initialState, int spinCount)
        : this(initialState)
    {
    }

    public bool IsSet
    {
        get
        {
            Points.Me.StepOn(null);
            return Order.Learn(_isSet);
        }
    }

    public void Set()
    {
        Points.Me.StepOn(this);
        _isSet = true;
    }

    public void Reset()
    {
        Points.Me.StepOn(this);
        _isSet = false;
    }

    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan, CancellationToken.None);

    public void Wait(CancellationToken cancellationToken) => _ = Wait(Timeout.InfiniteTimeSpan, cancellationToken);

    public bool Wait(int millisecondsTimeout) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);

    public bool Wait(TimeSpan timeout) => Wait(timeout, CancellationToken.None);

    public bool Wait(int millisecondsTimeout, CancellationToken cancellationToken) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public bool Wait(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.StepOn(null);
        return Waits.For("an event", () => _isSet, timeout, cancellationToken);
    }

    public void Dispose()
    {
    }
}

namespace Weir.Explore.Scheduling;

/// <summary>A signal that one thread waits for and another gives. Given before it is waited for, it is kept.</summary>
internal sealed class Turn
{
    private readonly ManualResetEventSlim _given = new(false, spinCount: 30);

    public void Give() => _given.Set();

    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan);

    public bool Wait(TimeSpan patience)
    {
        bool isGiven = _given.Wait(patience);
        if (isGiven)
        {
            _given.Reset();
        }

        return isGiven;
    }
}

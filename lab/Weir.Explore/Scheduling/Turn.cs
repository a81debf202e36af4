namespace Weir.Explore.Scheduling;

/// <summary>A signal that one thread waits for and another gives. Given before it is waited for, it is kept.</summary>
internal sealed class Turn
{
    private const int Spins = 30;
    private volatile bool _given;

    public void Give()
    {
        lock (this)
        {
            _given = true;
            Monitor.Pulse(this);
        }
    }

    public void Wait()
    {
        for (int i = 0; i < Spins && !_given; i++)
        {
            Thread.SpinWait(20);
        }

        _ = Wait(Timeout.InfiniteTimeSpan);
    }

    public bool Wait(TimeSpan patience)
    {
        lock (this)
        {
            while (!_given)
            {
                if (!Monitor.Wait(this, patience))
                {
                    return false;
                }
            }

            _given = false;
            return true;
        }
    }
}

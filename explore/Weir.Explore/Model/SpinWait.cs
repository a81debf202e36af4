namespace Weir.Explore.Model;

/// <summary>Each spin lets the others go first.</summary>
[Replaces("System.Threading.SpinWait")]
internal struct SpinWait
{
    private const int SpinsBeforeYield = 10;

    public int Count { get; private set; }

    public readonly bool NextSpinWillYield => Count >= SpinsBeforeYield;

    public static void SpinUntil(Func<bool> condition) => SpinUntil(condition, Timeout.InfiniteTimeSpan);

    public static bool SpinUntil(Func<bool> condition, int millisecondsTimeout) => SpinUntil(condition, TimeSpan.FromMilliseconds(millisecondsTimeout));

    public static bool SpinUntil(Func<bool> condition, TimeSpan timeout)
    {
        long start = Points.Me.Execution.Now;
        while (!condition())
        {
            if (timeout >= TimeSpan.Zero && Points.Me.Execution.Now - start >= timeout.Ticks)
            {
                return false;
            }

            Points.Me.Yield();
        }

        return true;
    }

    public void SpinOnce()
    {
        Count++;
        Points.Me.Yield();
    }

    public void SpinOnce(int sleep1Threshold) => SpinOnce();

    public void Reset() => Count = 0;
}

namespace Weir.Core;

/// <summary>
/// Takes the engine's locks in such a way that a thread interrupt cannot break them. User code may interrupt the thread it runs on. The interrupt takes effect
/// at the thread's next wait, which may be for a contended lock of the engine, in the middle of a change. There it is deferred until the thread waits for
/// something else.
/// </summary>
internal static class LockHold
{
    public static Lock.Scope Hold(this Lock lockObject)
    {
        try
        {
            return lockObject.EnterScope();
        }
        catch (ThreadInterruptedException)
        {
            return HoldAgain(lockObject);
        }
    }

    /// <summary>The same for a lock that has to be a monitor, because a thread waits on it or there is no other object to lock.</summary>
    public static MonitorScope HoldMonitor(object lockObject)
    {
        try
        {
            Monitor.Enter(lockObject);
        }
        catch (ThreadInterruptedException)
        {
            HoldMonitorAgain(lockObject);
        }

        return new MonitorScope(lockObject);
    }

    private static Lock.Scope HoldAgain(Lock lockObject)
    {
        while (true)
        {
            try
            {
                Lock.Scope scope = lockObject.EnterScope();
                Thread.CurrentThread.Interrupt();
                return scope;
            }
            catch (ThreadInterruptedException)
            {
                // Again; each exception uses up one interrupt.
            }
        }
    }

    private static void HoldMonitorAgain(object lockObject)
    {
        while (true)
        {
            try
            {
                Monitor.Enter(lockObject);
                Thread.CurrentThread.Interrupt();
                return;
            }
            catch (ThreadInterruptedException)
            {
                // As above.
            }
        }
    }

    public readonly ref struct MonitorScope(object lockObject)
    {
        private readonly object _lock = lockObject;

        public void Dispose() => Monitor.Exit(_lock);
    }
}

namespace Weir.Core;

/// <summary>
/// Takes the engine's locks in such a way that a thread interrupt cannot break them. User code may interrupt the thread it runs on. The interrupt takes effect
/// at the thread's next wait, which may be for a contended lock of the engine, in the middle of a change. There it is deferred until the thread waits for
/// something else.
/// </summary>
internal static class LockHold
{
    public static Lock.Scope Hold(this Lock gate)
    {
        try
        {
            return gate.EnterScope();
        }
        catch (ThreadInterruptedException)
        {
            return HoldAgain(gate);
        }
    }

    /// <summary>The same for a lock that has to be a monitor, because a thread waits on it or there is no other object to lock.</summary>
    public static MonitorScope HoldMonitor(object gate)
    {
        try
        {
            Monitor.Enter(gate);
        }
        catch (ThreadInterruptedException)
        {
            HoldMonitorAgain(gate);
        }

        return new MonitorScope(gate);
    }

    private static Lock.Scope HoldAgain(Lock gate)
    {
        while (true)
        {
            try
            {
                Lock.Scope scope = gate.EnterScope();
                Thread.CurrentThread.Interrupt();
                return scope;
            }
            catch (ThreadInterruptedException)
            {
                // Again; each exception uses up one interrupt.
            }
        }
    }

    private static void HoldMonitorAgain(object gate)
    {
        while (true)
        {
            try
            {
                Monitor.Enter(gate);
                Thread.CurrentThread.Interrupt();
                return;
            }
            catch (ThreadInterruptedException)
            {
                // As above.
            }
        }
    }

    public readonly ref struct MonitorScope(object gate)
    {
        private readonly object _gate = gate;

        public void Dispose() => Monitor.Exit(_gate);
    }
}

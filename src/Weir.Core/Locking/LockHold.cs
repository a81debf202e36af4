namespace Weir.Core;

/// <summary>
/// How the engine takes its locks: so that an interrupt cannot. User code may interrupt the thread it runs on; the interrupt takes effect
/// at the thread's next wait, and a contended lock of the engine is one, in the middle of a change. It is put off there until the thread waits for
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

    /// <summary>The same for a lock that has to be a monitor, because it is waited on or there is nothing else to lock.</summary>
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
                // Once more; each exception uses an interrupt up.
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

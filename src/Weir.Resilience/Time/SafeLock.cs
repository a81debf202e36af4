namespace Weir.Resilience;

/// <summary>
/// Takes the locks of policies in such a way that a thread interrupt cannot lose a token or a place. User code may interrupt the thread it runs on. The
/// interrupt takes effect at the thread's next wait, which may be for a contended lock, on the way to give something back. There it is deferred until the
/// thread waits for something else. The engine has its own, because neither project may use the other.
/// </summary>
internal static class SafeLock
{
    public static Lock.Scope EnterSafely(this Lock toEnter)
    {
        try
        {
            return toEnter.EnterScope();
        }
        catch (ThreadInterruptedException)
        {
            return EnterAgain(toEnter);
        }
    }

    private static Lock.Scope EnterAgain(Lock toEnter)
    {
        while (true)
        {
            try
            {
                Lock.Scope scope = toEnter.EnterScope();
                Thread.CurrentThread.Interrupt();
                return scope;
            }
            catch (ThreadInterruptedException)
            {
                // Again; each exception uses up one interrupt.
            }
        }
    }
}

namespace Weir.Explore.Model;

#pragma warning disable IDE1006, SA1300 // The name of the property's method.
[Replaces("System.Lazy`1")]
internal static class Lazies
{
    /// <summary>Who comes while another thread makes the value waits, as on the platform: here for a lock that the explorer knows.</summary>
    public static T get_Value<T>(Lazy<T> lazy)
    {
        ControlledThread.Current?.StepOn(lazy);
        Order.Acquire(lazy);
        LockState? making = ControlledThread.Current is not null && Mode<T>.Of(lazy) == LazyThreadSafetyMode.ExecutionAndPublication ? Monitors.Of(lazy) : null;
        making?.Enter();
        try
        {
            return lazy.Value;
        }
        finally
        {
            Order.Use(lazy);
            making?.Exit();
        }
    }

    private static class Mode<T>
    {
        [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "get_Mode")]
        public static extern LazyThreadSafetyMode? Of(Lazy<T> lazy);
    }
}

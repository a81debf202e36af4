namespace Weir.Explore.Model;

[Replaces("System.Threading.CancellationToken")]
[Replaces("System.Threading.CancellationTokenRegistration")]
internal static class Registrations
{
    public static CancellationTokenRegistration Register(ref CancellationToken token, Action callback) => Add(token, (_, _) => callback(), null, flow: true);

    public static CancellationTokenRegistration Register(ref CancellationToken token, Action callback, bool useSynchronizationContext) =>
        Add(token, (_, _) => callback(), null, flow: true);

    public static CancellationTokenRegistration Register(ref CancellationToken token, Action<object?> callback, object? state) =>
        Add(token, (s, _) => callback(s), state, flow: true);

    public static CancellationTokenRegistration Register(ref CancellationToken token, Action<object?, CancellationToken> callback, object? state) =>
        Add(token, callback, state, flow: true);

    public static CancellationTokenRegistration UnsafeRegister(ref CancellationToken token, Action<object?> callback, object? state) =>
        Add(token, (s, _) => callback(s), state, flow: false);

    public static CancellationTokenRegistration UnsafeRegister(ref CancellationToken token, Action<object?, CancellationToken> callback, object? state) =>
        Add(token, callback, state, flow: false);

    /// <summary>Waits, as the platform's method does, for the callback that another thread is running.</summary>
    public static void Dispose(ref CancellationTokenRegistration registration)
    {
        ControlledThread me = Points.Me;
        me.Step();
        if (me.Execution.Callbacks.TryGetValue(registration, out Callback? callback))
        {
            me.Block("a callback of a cancellation", () => callback.RunsOn is null || callback.RunsOn == me);
            Order.Acquire(callback);
        }

        registration.Dispose();
    }

    public static ValueTask DisposeAsync(ref CancellationTokenRegistration registration)
    {
        Points.Me.Step();
        if (!Points.Me.Execution.Callbacks.TryGetValue(registration, out Callback? callback) || callback.RunsOn is null)
        {
            registration.Dispose();
            return default;
        }

        return new ValueTask(callback.Ended.Task);
    }

    public static CancellationToken? TokenOf(CancellationTokenSource source)
    {
        try
        {
            return source.Token;
        }
        catch (ObjectDisposedException)
        {
            return null;
        }
    }

    private static CancellationTokenRegistration Add(CancellationToken token, Action<object?, CancellationToken> action, object? state, bool flow)
    {
        ControlledThread me = Points.Me;
        me.Step();
        Callback callback = new(action, state);
        CancellationTokenRegistration registration = flow ? token.Register(callback.Run, null) : token.UnsafeRegister(callback.Run, null);
        me.Execution.Callbacks[registration] = callback;
        return registration;
    }
}

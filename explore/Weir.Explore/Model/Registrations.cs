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
        me.StepOn(SourceOf(registration.Token));
        if (me.Execution.Callbacks.TryGetValue(registration, out Callback? callback))
        {
            me.Block("a callback of a cancellation", () => callback.RunsOn is null || callback.RunsOn == me, orders: false);
            Order.Acquire(callback);
            Order.Change(SourceOf(registration.Token));
        }

        registration.Dispose();
    }

    public static ValueTask DisposeAsync(ref CancellationTokenRegistration registration)
    {
        Points.Me.StepOn(SourceOf(registration.Token));
        if (!Points.Me.Execution.Callbacks.TryGetValue(registration, out Callback? callback) || callback.RunsOn is null)
        {
            registration.Dispose();
            return default;
        }

        return new ValueTask(callback.Ended.Task);
    }

    /// <summary>Null if it is never cancelled.</summary>
    public static CancellationTokenSource? SourceOf(CancellationToken token) => Source(ref token);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_source")]
    private static extern ref CancellationTokenSource? Source(ref CancellationToken token);

    private static CancellationTokenRegistration Add(CancellationToken token, Action<object?, CancellationToken> action, object? state, bool flow)
    {
        ControlledThread me = Points.Me;
        me.StepOn(SourceOf(token));
        Callback callback = new(action, state);
        CancellationTokenRegistration registration = flow ? token.Register(callback.Run, null) : token.UnsafeRegister(callback.Run, null);
        me.Execution.Callbacks[registration] = callback;
        return registration;
    }
}

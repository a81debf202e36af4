using System.Reflection;

namespace Weir.Explore.Model;

[Replaces("System.Threading.CancellationTokenSource")]
[Replaces("System.IDisposable")]
internal static class Cancellation
{
    private static readonly ConditionalWeakTable<CancellationTokenSource, HashSet<CancellationTokenSource?>> Parents = [];
    private static readonly FieldInfo Registered = typeof(CancellationTokenSource).GetField("_registrations", BindingFlags.Instance | BindingFlags.NonPublic)!;

    public static CancellationTokenSource New(int millisecondsDelay) => New(TimeSpan.FromMilliseconds(millisecondsDelay));
    public static CancellationTokenSource New(TimeSpan delay) => New(delay, Time.Provider);

    public static CancellationTokenSource New(TimeSpan delay, TimeProvider timeProvider)
    {
        if (timeProvider != Time.Provider || delay == TimeSpan.Zero)
        {
            return new CancellationTokenSource(delay, timeProvider);
        }

        CancellationTokenSource source = new();
        CancelAfter(source, delay);
        return source;
    }

    public static void CancelAfter(CancellationTokenSource source, int millisecondsDelay) => CancelAfter(source, TimeSpan.FromMilliseconds(millisecondsDelay));

    public static void CancelAfter(CancellationTokenSource source, TimeSpan delay)
    {
        Points.Me.Step();
        if (delay >= TimeSpan.Zero || delay == Timeout.InfiniteTimeSpan)
        {
            TimerOf(source) ??=
                Time.Provider.CreateTimer(_ => CancelUnlessDisposed(source), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }

        source.CancelAfter(delay);
    }

    /// <summary>The platform's asks its own kind of timer whether it has fired. It looks, and then removes the callbacks: between these, it may be cancelled.</summary>
    public static bool TryReset(CancellationTokenSource source)
    {
        Points.Me.Step();
        _ = source.Token;
        bool hasFired = TimerOf(source) is { } timer &&
            !(timer is VirtualTimer own && own.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan) && !own.HasFired);
        if (source.IsCancellationRequested || hasFired)
        {
            return false;
        }

        if (Registered.GetValue(source) is { } registrations)
        {
            Points.Me.Step();
            registrations.GetType().GetMethod("UnregisterAll")!.Invoke(registrations, null);
        }

        return true;
    }

    public static void Cancel(CancellationTokenSource source) => Cancel(source, throwOnFirstException: false);

    public static void Cancel(CancellationTokenSource source, bool throwOnFirstException)
    {
        Points.Me.Step();
        _ = source.Token;
        Running(source, () =>
        {
            if (BeginCancel(source))
            {
                // It is requested, and no callback has begun.
                if (Registered.GetValue(source) is not null)
                {
                    Points.Me.Step();
                }

                RunCallbacks(source, throwOnFirstException);
            }
        });
    }

    /// <summary>It is requested at once; the callbacks come later.</summary>
    public static Task CancelAsync(CancellationTokenSource source)
    {
        Points.Me.Step();
        return IsDisposed(source) ? Task.FromException(new ObjectDisposedException(null))
            : BeginCancel(source) ? Tasks.Run(() => Running(source, () => RunCallbacks(source, false)))
            : Task.CompletedTask;
    }

    public static CancellationTokenSource CreateLinkedTokenSource(CancellationToken token) =>
        Linked(CancellationTokenSource.CreateLinkedTokenSource(token), token);
    public static CancellationTokenSource CreateLinkedTokenSource(CancellationToken token1, CancellationToken token2) =>
        Linked(CancellationTokenSource.CreateLinkedTokenSource(token1, token2), token1, token2);
    public static CancellationTokenSource CreateLinkedTokenSource(params CancellationToken[] tokens) =>
        Linked(CancellationTokenSource.CreateLinkedTokenSource(tokens), tokens);
    public static CancellationTokenSource CreateLinkedTokenSource(params ReadOnlySpan<CancellationToken> tokens) =>
        Linked(CancellationTokenSource.CreateLinkedTokenSource(tokens), tokens);

    /// <summary>A linked source waits, as the platform's does, for the callback of its parent that is cancelling it.</summary>
    public static void Dispose(CancellationTokenSource source)
    {
        ControlledThread me = Points.Me;
        me.Step();
        if (Parents.TryGetValue(source, out HashSet<CancellationTokenSource?>? parents))
        {
            me.Block("the cancellation of a linked source", () => !me.Execution.Cancelling.Exists(c => c.Thread != me && parents.Contains(c.Source)));
        }

        source.Dispose();
    }

    /// <summary>What is disposed of without its type being known.</summary>
    public static void Dispose(IDisposable disposable)
    {
        if (disposable is CancellationTokenSource source)
        {
            Dispose(source);
            return;
        }

        ProvidedTimers.Step(disposable!);
        if (disposable?.GetType().Module == typeof(object).Module && disposable is not System.Collections.IEnumerator)
        {
            Effects.WritePlatform();
        }

        disposable!.Dispose();
    }

    private static CancellationTokenSource Linked(CancellationTokenSource source, params ReadOnlySpan<CancellationToken> tokens)
    {
        Effects.WritePlatform();
        HashSet<CancellationTokenSource?> parents = [];
        foreach (CancellationToken token in tokens)
        {
            CancellationTokenSource? parent = Registrations.SourceOf(token);
            parents.Add(parent);
            parents.UnionWith(parent is not null && Parents.TryGetValue(parent, out HashSet<CancellationTokenSource?>? more) ? more : []);
        }

        Parents.Add(source, parents);
        return source;
    }

    private static void Running(CancellationTokenSource source, Action cancel)
    {
        ControlledThread me = Points.Me;
        List<(ControlledThread, CancellationTokenSource)> running = me.Execution.Cancelling;
        running.Add((me, source));
        try
        {
            cancel();
        }
        finally
        {
            running.Remove((me, source));
        }
    }

    private static void CancelUnlessDisposed(CancellationTokenSource source)
    {
        try
        {
            Cancel(source);
        }
        catch (ObjectDisposedException)
        {
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_timer")]
    private static extern ref ITimer? TimerOf(CancellationTokenSource source);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_disposed")]
    private static extern ref bool IsDisposed(CancellationTokenSource source);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "TransitionToCancellationRequested")]
    private static extern bool BeginCancel(CancellationTokenSource source);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "ExecuteCallbackHandlers")]
    private static extern void RunCallbacks(CancellationTokenSource source, bool throwOnFirstException);
}

[Replaces("System.Threading.CancellationToken")]
[Replaces("System.Threading.CancellationTokenRegistration")]
internal static class Registrations
{
    public static CancellationTokenRegistration Register(ref CancellationToken token, Action callback) => Add(token, (_, _) => callback(), null, flow: true);
    public static CancellationTokenRegistration Register(ref CancellationToken token, Action callback, bool useSynchronizationContext) =>
        Add(token, (_, _) => callback(), null, flow: true);
    public static CancellationTokenRegistration Register(ref CancellationToken token, Action<object?> callback, object? state) =>
        Add(token, (s, _) => callback(s), state, flow: true);

    public static CancellationTokenRegistration Register(
        ref CancellationToken token, Action<object?> callback, object? state, bool useSynchronizationContext) => Add(token, (s, _) => callback(s), state, flow: true);

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
            Effects.Acquire(callback);
            Effects.Write(SourceOf(registration.Token));
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

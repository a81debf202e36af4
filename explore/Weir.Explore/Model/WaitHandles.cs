namespace Weir.Explore.Model;

/// <summary>
/// Events that are wait handles. Each is still an object of the platform, of the type that it has there; whether it is set is here. Threads that wait are woken
/// in any order.
/// </summary>
[Replaces("System.Threading.WaitHandle")]
internal static class WaitHandles
{
    private static readonly ConditionalWeakTable<WaitHandle, State> States = [];

    public static bool WaitOne(WaitHandle handle) => WaitOne(handle, Timeout.InfiniteTimeSpan);
    public static bool WaitOne(WaitHandle handle, int millisecondsTimeout) => WaitOne(handle, Time.Limit(millisecondsTimeout));
    public static bool WaitOne(WaitHandle handle, int millisecondsTimeout, bool exitContext) => WaitOne(handle, millisecondsTimeout);
    public static bool WaitOne(WaitHandle handle, TimeSpan timeout, bool exitContext) => WaitOne(handle, timeout);
    public static bool WaitOne(WaitHandle handle, TimeSpan timeout) => Wait([handle], all: true, timeout) == 0;
    public static int WaitAny(WaitHandle[] waitHandles) => WaitAny(waitHandles, Timeout.InfiniteTimeSpan);
    public static int WaitAny(WaitHandle[] waitHandles, int millisecondsTimeout) => WaitAny(waitHandles, Time.Limit(millisecondsTimeout));
    public static int WaitAny(WaitHandle[] waitHandles, TimeSpan timeout) => Wait(waitHandles, all: false, timeout);
    public static bool WaitAll(WaitHandle[] waitHandles) => WaitAll(waitHandles, Timeout.InfiniteTimeSpan);
    public static bool WaitAll(WaitHandle[] waitHandles, int millisecondsTimeout) => WaitAll(waitHandles, Time.Limit(millisecondsTimeout));
    public static bool WaitAll(WaitHandle[] waitHandles, TimeSpan timeout) => Wait(waitHandles, all: true, timeout) != WaitHandle.WaitTimeout;

    internal static THandle Add<THandle>(THandle handle, bool isSet, bool isAuto)
        where THandle : WaitHandle
    {
        States.Add(handle, new State(isAuto) { IsSet = isSet });
        return handle;
    }

    internal static bool Set(WaitHandle handle, bool isSet)
    {
        State state = Of(handle);
        Points.Me.StepOn(state);
        ObjectDisposedException.ThrowIf(handle.SafeWaitHandle.IsClosed, handle);
        state.IsSet = isSet;
        return true;
    }

    /// <summary>The index of the first event that was set, or 0 for all of them.</summary>
    private static int Wait(WaitHandle[] handles, bool all, TimeSpan timeout)
    {
        timeout = Time.Limit(timeout);
        State[] states = Array.ConvertAll(handles, Of);
        Points.Me.StepOn(null);
        Array.ForEach(handles, static h => ObjectDisposedException.ThrowIf(h.SafeWaitHandle.IsClosed, h));
        if (!Waits.For(states.Length == 1 ? "an event" : $"{(all ? "all" : "one")} of {states.Length} events", IsThere, timeout, CancellationToken.None))
        {
            return WaitHandle.WaitTimeout;
        }

        int first = all ? 0 : (int)Effects.Observe((ulong)Array.FindIndex(states, static s => s.IsSet));
        foreach (State taken in all ? states : states.AsSpan(first, 1))
        {
            if (taken.IsAuto)
            {
                Effects.Write(taken);
                taken.IsSet = false;
            }
        }

        return first;

        bool IsThere() => all ? Array.TrueForAll(states, static s => s.IsSet) : Array.Exists(states, static s => s.IsSet);
    }

    private static State Of(WaitHandle handle) => States.TryGetValue(handle, out State? state) ? state : throw new NotSupportedException(
        $"The explorer has no model of this {handle.GetType()}: the code under test has not made it, or it is not an event. It is used at {Points.Me.Site}.");

    private sealed class State(bool isAuto)
    {
        public bool IsAuto => isAuto;

        public bool IsSet { get; set; }
    }
}

[Replaces("System.Threading.EventWaitHandle")]
internal static class EventWaitHandles
{
    public static EventWaitHandle New(bool initialState, EventResetMode mode) =>
        WaitHandles.Add(new EventWaitHandle(initialState, mode), initialState, mode == EventResetMode.AutoReset);
    public static bool Set(EventWaitHandle handle) => WaitHandles.Set(handle, isSet: true);
    public static bool Reset(EventWaitHandle handle) => WaitHandles.Set(handle, isSet: false);
}

[Replaces("System.Threading.AutoResetEvent")]
internal static class AutoResetEvents
{
    public static AutoResetEvent New(bool initialState) => WaitHandles.Add(new AutoResetEvent(initialState), initialState, isAuto: true);
}

[Replaces("System.Threading.ManualResetEvent")]
internal static class ManualResetEvents
{
    public static ManualResetEvent New(bool initialState) => WaitHandles.Add(new ManualResetEvent(initialState), initialState, isAuto: false);
}

using System.Runtime.InteropServices;

namespace Weir.Explore.Model;

[Replaces("System.Threading.Monitor")]
internal static class Monitors
{
    // Of a schedule: what is locked may live longer, as a type or a text does.
    private static readonly ConditionalWeakTable<Execution, Dictionary<object, LockState>> States = [];

    public static void Enter(object obj) => Of(obj).Enter();

    public static void Enter(object obj, ref bool lockTaken)
    {
        Of(obj).Enter();
        lockTaken = true;
    }

    public static void Exit(object obj) => Of(obj).Exit();

    public static bool IsEntered(object obj) => Of(obj).IsMine;

    public static bool TryEnter(object obj) => TryEnter(obj, TimeSpan.Zero);

    public static void TryEnter(object obj, ref bool lockTaken) => lockTaken = TryEnter(obj, TimeSpan.Zero);

    public static bool TryEnter(object obj, int millisecondsTimeout) => TryEnter(obj, TimeSpan.FromMilliseconds(millisecondsTimeout));

    public static bool TryEnter(object obj, TimeSpan timeout) => Of(obj).TryEnter(timeout);

    public static void TryEnter(object obj, int millisecondsTimeout, ref bool lockTaken) => lockTaken = TryEnter(obj, millisecondsTimeout);

    public static void TryEnter(object obj, TimeSpan timeout, ref bool lockTaken) => lockTaken = TryEnter(obj, timeout);

    public static bool Wait(object obj) => Wait(obj, Timeout.InfiniteTimeSpan);

    public static bool Wait(object obj, int millisecondsTimeout) => Wait(obj, TimeSpan.FromMilliseconds(millisecondsTimeout));

    public static bool Wait(object obj, TimeSpan timeout) => Of(obj).Wait(timeout);

    public static void Pulse(object obj) => Of(obj).Pulse(all: false);

    public static void PulseAll(object obj) => Of(obj).Pulse(all: true);

    internal static LockState Of(object obj)
    {
        Dictionary<object, LockState> states = States.GetValue(Points.Me.Execution, static _ => new(ReferenceEqualityComparer.Instance));
        return CollectionsMarshal.GetValueRefOrAddDefault(states, obj, out _) ??= new LockState(obj.GetType().Name);
    }
}

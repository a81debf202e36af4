using System.Runtime.CompilerServices;

namespace Weir.Core.Dispatch;

/// <summary>
/// The state of an item that other threads can give up, together with the item's serial number, so that a late timer cannot hit the next item. It is changed by
/// compare-and-swap: the thread that takes it out of a state decides what becomes of the item, so each item has exactly one outcome.
/// </summary>
/// <remarks>
/// <list type="table">
/// <listheader><term>from, to</term><description>who</description></listheader>
/// <item><term>Idle, InCall</term><description>the worker, by a store: nobody else changes an idle word</description></item>
/// <item><term>InCall, Idle</term><description>
/// the worker. The word stays as it is while nobody has wanted an item of this worker: the worker's cursor says that the item has ended (see
/// <see cref="ItemGuard.TryEndCall"/>), and the next item begins with a store
/// </description></item>
/// <item><term>InCall or Shared, Moving; Moving, Waiting or Idle</term><description>
/// the worker, whose call has suspended. Others spin while it moves
/// </description></item>
/// <item><term>Waiting, Idle</term><description>the worker, when the call has ended</description></item>
/// <item><term>InCall, Sharing; Sharing, Shared</term><description>the stall watch. The worker and others spin while it shares</description></item>
/// <item><term>InCall, Shared or Waiting, Abandoned</term><description>
/// whoever gives up the item: a timer, or the end of the run. There is no way back
/// </description></item>
/// <item><term>Handed, Idle</term><description>the worker that replaces an orphan, when it has a thread</description></item>
/// <item><term>Handed, Abandoned</term><description>the end of the run, which records the outcome in that worker's place</description></item>
/// </list>
/// </remarks>
internal struct ItemWord
{
    private const long StateMask = 7;

    /// <summary>Between items. The state that all others lead back to.</summary>
    public const long Idle = 0;

    /// <summary>Inside the call, on a thread. The items that the worker claimed beyond this one belong to the thread that gives it up.</summary>
    public const long InCall = 1;

    /// <summary>The worker is giving back the items that it claimed beyond this one, which takes a few instructions.</summary>
    public const long Moving = 2;

    /// <summary>The call has returned, and the worker waits for its end.</summary>
    public const long Waiting = 3;

    /// <summary>Another thread decided the item's outcome. The worker is an orphan.</summary>
    public const long Abandoned = 4;

    /// <summary>
    /// Inside a call that takes long. The items that the worker claimed beyond this one are being given to other workers, which takes a few instructions.
    /// </summary>
    public const long Sharing = 5;

    /// <summary>Inside a call that takes long. The worker no longer has any items beyond this one.</summary>
    public const long Shared = 6;

    /// <summary>The worker that replaces an orphan has yet to record the outcome of its item.</summary>
    public const long Handed = 7;

    private long _value;

    /// <summary>The word, for a thread that may then try to change it.</summary>
    public readonly long Value => Volatile.Read(in _value);

    public static long StateOf(long word) => word & StateMask;

    /// <summary>The serial number of the word's item.</summary>
    public static long ItemOf(long word) => word & ~StateMask;

    /// <summary>The word of the same item in another state.</summary>
    public static long In(long word, long state) => ItemOf(word) + state;

    /// <summary>The next item begins. Only for the owner of an idle word.</summary>
    /// <returns>The word from now on.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Begin(long state)
    {
        long word = In(_value, state) + StateMask + 1;
        Volatile.Write(ref _value, word);
        return word;
    }

    /// <summary>Changes the state by a store. Only for the owner of a word that nobody else changes in its state.</summary>
    public void Set(long word, long state) => Volatile.Write(ref _value, In(word, state));

    /// <summary>Changes the state, unless another thread has changed the word.</summary>
    public bool TryMove(long word, long state) => Interlocked.CompareExchange(ref _value, In(word, state), word) == word;
}

using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;
using Weir.Dataflow.Links;
using Weir.Dataflow.Waiters;

namespace Weir.Dataflow.Cores;

/// <summary>The output side of a block with one message at a time, of which everybody may have a copy.</summary>
/// <remarks>The monitor (this object) guards the message and the list of those who want it. It may be held while targets are offered to.</remarks>
internal class CopySource<T>(Func<T, T>? cloningFunction) : ReceiveSource<T>
{
    /// <summary>Who wants the message. Guarded by the monitor.</summary>
    public LinkList<T> Links;

    public BlockCompletion End;
    public override Task Completion => End.Task;

    public override bool IsCompleted => End.IsCompleted;

    /// <summary>The message. Guarded by the monitor.</summary>
    public T? Value { get; private set; }

    public bool HasValue { get; private set; }

    /// <summary>No other message comes, and nobody waits any more. Guarded by the monitor.</summary>
    public bool HasEnded { get; set; }

    /// <summary>Whether those who take the message consume it, so that a copy is made for each of them and for nobody else.</summary>
    public bool Clones => cloningFunction is not null;

    public T Copy(T item) => cloningFunction is null ? item : cloningFunction(item);

    public void SetNeedsLock(T item)
    {
        Value = item;
        HasValue = true;
    }

    public override bool TryReceive([MaybeNullWhen(false)] out T item) => TryReceive(null, out item);

    public override bool TryReceive(Predicate<T>? filter, [MaybeNullWhen(false)] out T item)
    {
        // Value and flag under the lock: otherwise a thread could see that there is a value and read the default.
        bool any;
        lock (this)
        {
            any = HasValue;
            item = Value;
        }

        if (!any || (filter is not null && !filter(item!)))
        {
            item = default;
            return false;
        }

        item = Copy(item!);
        return true;
    }

    public override bool TryReceiveAll([NotNullWhen(true)] out IList<T>? items)
    {
        bool any = TryReceive(null, out T? item);
        items = any ? [item!] : null;
        return any;
    }

    public override bool IsReceivable()
    {
        lock (this)
        {
            return HasValue;
        }
    }

    public override void Enlist(ReceiveWaiter<T> waiter, CancellationToken cancellationToken)
    {
        bool any;
        lock (this)
        {
            any = HasValue;
            if (!waiter.IsGivenUp && !any && !HasEnded)
            {
                Links.Add(waiter, append: true);
                return;
            }
        }

        if (waiter.IsGivenUp)
        {
            waiter.GiveUp(timedOut: !cancellationToken.IsCancellationRequested, cancellationToken);
        }
        else if (!any)
        {
            waiter.SourceEnded();
        }
        else
        {
            GiveTo(waiter);
        }
    }

    public override void GiveUp(ReceiveWaiter<T> waiter, bool timedOut, CancellationToken token)
    {
        bool removed;
        lock (this)
        {
            removed = Links.Remove(waiter);
            waiter.IsGivenUp = true;
        }

        if (removed)
        {
            waiter.GiveUp(timedOut, token);
        }
    }

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        view.HasValue = HasValue;
        view.Value = Value;
        view.LinkedTargets = Links.ToArray();
        view.IsCompleted = End.IsCompleted;
    }

    /// <summary>Puts a target into the list. The source is the block itself.</summary>
    public TargetLink<T> LinkNeedsLock(ISourceBlock<T> source, ref ITargetBlock<T> target, DataflowLinkOptions linkOptions)
    {
        if (Links.Find(target) is not null)
        {
            target = new PassThrough<T>(source, target, null);
        }

        TargetLink<T> link = new(target, linkOptions);
        Links.Add(link, linkOptions.Append);
        return link;
    }

    public void Unlink(TargetLink<T> link)
    {
        lock (this)
        {
            Links.Remove(link);
        }
    }

    /// <summary>
    /// Gives a copy of the message to a waiter that is no longer in the list. Throws nothing: if no copy can be made, the waiter gets the exception.
    /// </summary>
    public void GiveTo(ReceiveWaiter<T> waiter)
    {
        if (waiter.TakesMessage)
        {
            try
            {
                waiter.Give(Copy(Value!));
            }
            catch (Exception e)
            {
                waiter.Fail(e);
                return;
            }
        }

        waiter.AfterLock();
    }
}

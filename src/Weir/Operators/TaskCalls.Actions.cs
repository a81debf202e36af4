using System.Runtime.CompilerServices;
using Weir.Core.Sinks;

namespace Weir.Operators;

/// <content>Calls without a result.</content>
internal static partial class TaskCalls
{
    /// <summary>Turns an action into a selector whose results are all the default value.</summary>
    public static Func<TItem, CancellationToken, ValueTask<TNothing>> AsSelector<TItem, TNothing>(
        Func<TItem, CancellationToken, ValueTask> action, [CallerArgumentExpression(nameof(action))] string? name = null)
        where TNothing : struct
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new ActionSelector<TItem, TNothing>(action).Invoke;
    }

    /// <summary>The outcomes of such a selector.</summary>
    public static async Task<ItemOutcome<TItem>[]> WithoutResults<TItem>(Task<ItemOutcome<TItem, Nothing>[]> outcomes) =>
        Array.ConvertAll(await outcomes.ConfigureAwait(false), static outcome => new ItemOutcome<TItem>(outcome));

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, CancellationToken, Task> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new TaskAction<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, ValueTask> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new ValueActionWithoutToken<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, Task> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new TaskActionWithoutToken<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Synchronous<TItem>(
        Action<TItem> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new SynchronousAction<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Synchronous<TItem>(
        Action<TItem, CancellationToken> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new SynchronousActionWithToken<TItem>(action).Invoke;
    }

    private static ValueTask<TNothing> WithResult<TNothing>(ValueTask call)
        where TNothing : struct
    {
        static async ValueTask<TNothing> Wait(ValueTask call)
        {
            await call.ConfigureAwait(false);
            return default;
        }

        if (!call.IsCompletedSuccessfully)
        {
            return Wait(call);
        }

        call.GetAwaiter().GetResult();
        return default;
    }

    private sealed class ActionSelector<TItem, TNothing>(Func<TItem, CancellationToken, ValueTask> action) : IWrapped
        where TNothing : struct
    {
        public Delegate Call => action;

        public ValueTask<TNothing> Invoke(TItem item, CancellationToken cancellationToken) => WithResult<TNothing>(action(item, cancellationToken));
    }

    private sealed class TaskAction<TItem>(Func<TItem, CancellationToken, Task> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken) => new(action(item, cancellationToken) ?? throw NoTask());
    }

    private sealed class ValueActionWithoutToken<TItem>(Func<TItem, ValueTask> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken) => action(item);
    }

    private sealed class TaskActionWithoutToken<TItem>(Func<TItem, Task> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken) => new(action(item) ?? throw NoTask());
    }

    private sealed class SynchronousAction<TItem>(Action<TItem> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken)
        {
            action(item);
            return default;
        }
    }

    private sealed class SynchronousActionWithToken<TItem>(Action<TItem, CancellationToken> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken)
        {
            action(item, cancellationToken);
            return default;
        }
    }
}

using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Sinks;

namespace Weir.Operators;

/// <summary>
/// Adapts calls of other shapes to calls that take a token and return a <see cref="ValueTask"/>, which the runs use. It makes an object or two a run, none an
/// item.
/// </summary>
internal static class TaskCalls
{
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, CancellationToken, Task<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new TaskSelector<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, ValueTask<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new ValueSelectorWithoutToken<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, Task<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new TaskSelectorWithoutToken<TItem, TResult>(selector).Invoke;
    }

    /// <summary>Refuses results that are tasks. The types say it, so no item pays for the look.</summary>
    /// <exception cref="ArgumentException">The results are tasks, which nobody would await.</exception>
    [StackTraceHidden]
    public static void RefuseTasks(Type results, string? name)
    {
        if (IsTask(results))
        {
            throw new ArgumentException(
                "The results of the call are tasks, which nobody would await: await them inside the call (Task.Run does, Task.Factory.StartNew does not), "
                    + "or put them into a tuple if tasks are what you want.",
                name);
        }
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Synchronous<TItem, TResult>(
        Func<TItem, TResult> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return typeof(TResult) == typeof(object)
            ? new ObjectSelector<TItem, TResult>(selector).Invoke
            : new SynchronousSelector<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Synchronous<TItem, TResult>(
        Func<TItem, CancellationToken, TResult> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new SynchronousSelectorWithToken<TItem, TResult>(selector).Invoke;
    }

    /// <summary>The user's own delegate, for code that remembers something about it.</summary>
    public static Delegate Inner(Delegate call) => call.Target is IWrapped wrapped ? Inner(wrapped.Call) : call;

    private static bool IsTask(Type type) =>
        typeof(Task).IsAssignableFrom(type)
            || type == typeof(ValueTask)
            || (type.IsValueType && type.IsGenericType && type.GetGenericTypeDefinition() == typeof(ValueTask<>));

    private static TResult NoTask<TResult>(TResult result) =>
        result is not null && IsTask(result.GetType())
            ? throw new InvalidOperationException("The result of the call is a task, which nobody would await: await it inside the call.")
            : result;

    private static InvalidOperationException NoTask() => new("The call returned null in place of a task.");

    private sealed class TaskSelector<TItem, TResult>(Func<TItem, CancellationToken, Task<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item, cancellationToken) ?? throw NoTask());
    }

    private sealed class ValueSelectorWithoutToken<TItem, TResult>(Func<TItem, ValueTask<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => selector(item);
    }

    private sealed class TaskSelectorWithoutToken<TItem, TResult>(Func<TItem, Task<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item) ?? throw NoTask());
    }

    private sealed class SynchronousSelector<TItem, TResult>(Func<TItem, TResult> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item));
    }

    /// <summary>Results of type object: only each of them shows whether it is a task, such as that of a method called by reflection.</summary>
    private sealed class ObjectSelector<TItem, TResult>(Func<TItem, TResult> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(NoTask(selector(item)));
    }

    private sealed class SynchronousSelectorWithToken<TItem, TResult>(Func<TItem, CancellationToken, TResult> selector) : IWrapped
    {
        private readonly bool _looks = typeof(TResult) == typeof(object);

        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken)
        {
            TResult result = selector(item, cancellationToken);
            return new(_looks ? NoTask(result) : result);
        }
    }

    // Calls without a result.

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

/// <summary>The target of a delegate that calls the user's own one.</summary>
internal interface IWrapped
{
    Delegate Call { get; }
}

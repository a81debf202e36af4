using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Operators;

/// <summary>
/// Adapts calls of other shapes to calls that take a token and return a <see cref="ValueTask"/>, which the runs use. It makes an object or two a run, none an
/// item.
/// </summary>
internal static partial class TaskCalls
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
}

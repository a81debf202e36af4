using System.Runtime.CompilerServices;

namespace Weir.Operators;

/// <summary>Adapts calls that return a <see cref="Task"/> to calls that return a <see cref="ValueTask"/>, which the runs use.</summary>
internal static class TaskCalls
{
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, CancellationToken, Task<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new TaskSelector<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, CancellationToken, Task> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return (item, cancellationToken) => new ValueTask(action(item, cancellationToken) ?? throw NoTask());
    }

    /// <summary>The user's own delegate, for code that remembers something about it.</summary>
    public static Delegate Inner(Delegate call) => call.Target is IWrapped wrapped ? wrapped.Call : call;

    private static InvalidOperationException NoTask() => new("The call returned null in place of a task.");

    private interface IWrapped
    {
        Delegate Call { get; }
    }

    private sealed class TaskSelector<TItem, TResult>(Func<TItem, CancellationToken, Task<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item, cancellationToken) ?? throw NoTask());
    }
}

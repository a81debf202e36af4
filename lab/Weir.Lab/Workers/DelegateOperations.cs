using System.Reflection;

namespace Weir.Lab.Workers;

/// <summary>Operations of delegates whose type is known only at run time.</summary>
internal static class DelegateOperations
{
    /// <summary>The operation that calls an <see cref="Action"/> or a <see cref="Func{TResult}"/>, and awaits what can be awaited.</summary>
    public static Operation Of(Delegate call)
    {
        if (call is Action action)
        {
            return Operation.Of(action);
        }

        // Not by the delegate: one that returns a task with a result is also one that returns a task.
        Type returned = call.GetType().GenericTypeArguments[0];
        if (returned == typeof(Task))
        {
            return Operation.OfAsync((Func<Task>)call);
        }

        if (returned == typeof(ValueTask))
        {
            return Operation.OfAsync((Func<ValueTask>)call);
        }

        Type? definition = returned.IsGenericType ? returned.GetGenericTypeDefinition() : null;
        string name = definition == typeof(Task<>) ? nameof(OfTask) : definition == typeof(ValueTask<>) ? nameof(OfValueTask) : nameof(OfResult);
        Type result = name == nameof(OfResult) ? returned : returned.GenericTypeArguments[0];
        return (Operation)typeof(DelegateOperations).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic)!
            .MakeGenericMethod(result).Invoke(null, [call])!;
    }

    private static Operation OfTask<T>(Func<Task<T>> call) => Operation.OfAsync(call);

    private static Operation OfValueTask<T>(Func<ValueTask<T>> call) => Operation.OfAsync(call);

    private static Operation OfResult<T>(Func<T> call) => Operation.Of(call);
}

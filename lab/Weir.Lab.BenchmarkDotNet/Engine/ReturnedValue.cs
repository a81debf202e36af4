using System.Collections;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>What a benchmark returns, as a text that can be compared: benchmarks that are compared with each other should do equal work.</summary>
internal static class ReturnedValue
{
    /// <summary>Calls the benchmark twice more, after everything was measured.</summary>
    /// <returns>
    /// The value or the number of elements; <see langword="null"/> when the value tells nothing, or when the method has parameters. A value that the second
    /// call does not give again comes from state that calls share, such as a counter: it says how often the benchmark was called, and nothing of its work.
    /// </returns>
    public static string? Of(EngineParameters parameters)
    {
        object instance = BenchmarkBinder.InstanceOf(parameters);
        MethodInfo method = BenchmarkBinder.MethodOf(instance, parameters.BenchmarkName);
        if (method.GetParameters().Length > 0 || method.ReturnType.IsByRef || method.ReturnType.IsByRefLike || method.ReturnType == typeof(void))
        {
            return null;
        }

        string? first = Call(parameters, instance, method);
        return first is not null && first == Call(parameters, instance, method) ? first : null;
    }

    internal static string? TextOf(object? value) => value switch
    {
        ICollection collection => $"{collection.Count.ToString(CultureInfo.InvariantCulture)} elements",
        bool or char or byte or short or int or long or uint or ulong or ushort or sbyte or decimal => Convert.ToString(value, CultureInfo.InvariantCulture),
        _ => null,
    };

    private static string? Call(EngineParameters parameters, object instance, MethodInfo method)
    {
        parameters.IterationSetupAction?.Invoke();
        string? text = TextOf(Awaited(method.Invoke(method.IsStatic ? null : instance, null), method.ReturnType));
        parameters.IterationCleanupAction?.Invoke();
        return text;
    }

    private static object? Awaited(object? value, Type type)
    {
        if (type.IsGenericType && type.GetGenericTypeDefinition() == typeof(ValueTask<>))
        {
            value = type.GetMethod(nameof(ValueTask<int>.AsTask))!.Invoke(value, null);
        }
        else if (value is ValueTask valueTask)
        {
            value = valueTask.AsTask();
        }

        if (value is not Task task)
        {
            return value;
        }

        task.GetAwaiter().GetResult();
        return type.IsGenericType ? task.GetType().GetProperty(nameof(Task<int>.Result))!.GetValue(task) : null;
    }
}

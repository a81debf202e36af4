using System.Collections;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>What a benchmark returns, as a text that can be compared: benchmarks that are compared with each other should do equal work.</summary>
internal static class ReturnedValue
{
    private const int Calls = 2;
    private static readonly Type[] Nothing = [typeof(void), typeof(Task), typeof(ValueTask)];

    /// <summary>Calls the benchmark twice more in each worker, after everything was measured: all at once, because calls may need each other.</summary>
    /// <returns>
    /// The value or the number of elements; <see langword="null"/> when the value tells nothing, or when the method has parameters. A value that not all calls
    /// give comes from state that they share, such as a counter: it says how often the benchmark was called, and nothing of its work.
    /// </returns>
    public static string? Of(EngineParameters parameters, BenchmarkWindows windows)
    {
        object instance = BenchmarkBinder.InstanceOf(parameters);
        MethodInfo method = BenchmarkBinder.MethodOf(instance, parameters.BenchmarkName);
        if (method.GetParameters().Length > 0 || method.ReturnType.IsByRef || method.ReturnType.IsByRefLike || Nothing.Contains(method.ReturnType))
        {
            return null;
        }

        ConcurrentDictionary<string, bool> texts = new();
        bool isAlike = true;
        object? target = method.IsStatic ? null : instance;
        Operation call = windows.IsAsync
            ? Operation.OfAsync(async Task () => Add(TextOf(await ResultAsync(Invoke()!).ConfigureAwait(false))))
            : Operation.Of(() => Add(TextOf(Invoke())));
        for (int i = 0; i < Calls; i++)
        {
            parameters.IterationSetupAction?.Invoke();
            windows.Once(call).Run();
            parameters.IterationCleanupAction?.Invoke();
        }

        return isAlike && texts.Count == 1 ? texts.Keys.Single() : null;

        object? Invoke() => method.Invoke(target, BindingFlags.DoNotWrapExceptions, null, null, null);

        void Add(string? text)
        {
            if (text is null || (texts.TryAdd(text, true) && texts.Count > 1))
            {
                isAlike = false;
            }
        }
    }

    internal static string? TextOf(object? value) => value switch
    {
        ICollection collection => $"{collection.Count.ToString(CultureInfo.InvariantCulture)} elements",
        bool or char or byte or short or int or long or uint or ulong or ushort or sbyte or decimal => Convert.ToString(value, CultureInfo.InvariantCulture),
        _ => null,
    };

    private static async Task<object?> ResultAsync(object awaitable)
    {
        Task task = awaitable as Task ?? (Task)awaitable.GetType().GetMethod(nameof(ValueTask<int>.AsTask))!.Invoke(awaitable, null)!;
        await task.ConfigureAwait(false);
        return task.GetType().GetProperty(nameof(Task<int>.Result))!.GetValue(task);
    }
}

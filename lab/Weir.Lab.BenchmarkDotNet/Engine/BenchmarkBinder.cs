using System.Linq.Expressions;
using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>Finds the benchmark method behind what BenchmarkDotNet hands to an engine, and makes it an operation of its own shape.</summary>
/// <remarks>
/// BenchmarkDotNet's delegates block for each asynchronous call and consume into one shared place, so they do not scale. The target of the
/// delegates is the instance that it generated, which derives from the benchmark class and has the arguments in fields.
/// </remarks>
internal static class BenchmarkBinder
{
    private const string ArgumentField = "__argField";
    private const BindingFlags AnyMember = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;

    /// <summary>The operation of the method.</summary>
    public static Operation Bind(EngineParameters parameters)
    {
        object instance = InstanceOf(parameters);
        MethodInfo method = MethodOf(instance, parameters.BenchmarkName);
        ParameterInfo[] declared = method.GetParameters();
        if (method.ReturnType.IsByRef || method.ReturnType.IsByRefLike || declared.Any(static p => p.ParameterType.IsByRef || p.ParameterType.IsByRefLike))
        {
            // Such a call does not fit a delegate of the usual shapes. None of them is asynchronous, so BenchmarkDotNet's own delegate is good enough.
            Action<long> call = parameters.WorkloadActionNoUnroll;
            return Operation.Of(() => call(1));
        }

        Type delegateType = method.ReturnType == typeof(void) ? typeof(Action) : typeof(Func<>).MakeGenericType(method.ReturnType);
        return DelegateOperations.Of(DelegateOf(instance, method, declared, delegateType));
    }

    /// <summary>The instance that the benchmark runs on; it derives from the benchmark class.</summary>
    public static object InstanceOf(EngineParameters parameters) => parameters.WorkloadActionUnroll.Target is { } target
        && target.GetType().BaseType is { } type && type != typeof(object)
            ? target
            : throw new NotSupportedException(
                "Workers need the out-of-process toolchain or InProcessEmitToolchain: this toolchain does not show the benchmark instance.");

    /// <summary>The benchmark method of a case.</summary>
    /// <param name="instance">The instance that the benchmark runs on.</param>
    /// <param name="benchmarkName">The full name of the case, such as <c>Space.Class.Method(count: 3, Workers: 8)</c>.</param>
    public static MethodInfo MethodOf(object instance, string benchmarkName)
    {
        string name = NameOf(benchmarkName);
        int arguments = ArgumentFields(instance).Length;
        MethodInfo[] found =
        [
            .. instance.GetType().BaseType!.GetMethods(AnyMember)
                .Where(m => m.Name == name && m.IsDefined(typeof(BenchmarkAttribute), inherit: true) && m.GetParameters().Length == arguments),
        ];
        return found.Length == 1
            ? found[0]
            : throw new NotSupportedException($"{found.Length} benchmark methods are named {name} and have {arguments} parameters; workers need one.");
    }

    internal static string NameOf(string benchmarkName)
    {
        int end = benchmarkName.IndexOf('(', StringComparison.Ordinal);
        string path = end < 0 ? benchmarkName : benchmarkName[..end];

        // A generic class has its arguments in the name, with points of their own.
        int generic = path.LastIndexOf('>');
        return path[(Math.Max(path.LastIndexOf('.'), generic) + 1)..].TrimStart('.');
    }

    private static Delegate DelegateOf(object instance, MethodInfo method, ParameterInfo[] declared, Type delegateType)
    {
        if (declared.Length == 0)
        {
            // Bound directly to the method: otherwise, the method would be inlined, and the disassembler would not find it.
            return method.IsStatic ? method.CreateDelegate(delegateType) : method.CreateDelegate(delegateType, instance);
        }

        FieldInfo[] fields = ArgumentFields(instance);
        Expression[] arguments =
        [
            .. declared.Select((p, i) =>
                Expression.Convert(Expression.Constant(fields[i].GetValue(fields[i].IsStatic ? null : instance), fields[i].FieldType), p.ParameterType)),
        ];
        return Expression.Lambda(delegateType, Expression.Call(method.IsStatic ? null : Expression.Constant(instance), method, arguments)).Compile();
    }

    private static FieldInfo[] ArgumentFields(object instance) =>
    [
        .. instance.GetType().GetFields(AnyMember | BindingFlags.DeclaredOnly)
            .Where(static f => f.Name.StartsWith(ArgumentField, StringComparison.Ordinal))
            .OrderBy(static f => int.Parse(f.Name.AsSpan(ArgumentField.Length), System.Globalization.CultureInfo.InvariantCulture)),
    ];
}

using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>Which calls of the platform share what with other threads. What is not in these lists may share anything.</summary>
internal static class SharedCalls
{
    /// <summary>Values, what cannot be changed, what is of one thread, and what calls the program under test alone.</summary>
    private static readonly HashSet<string> Nothing =
    [
        "System.String", "System.Object", "System.Boolean", "System.Char", "System.Byte", "System.SByte", "System.Int16", "System.UInt16", "System.Int32",
        "System.UInt32", "System.Int64", "System.UInt64", "System.Int128", "System.UInt128", "System.IntPtr", "System.UIntPtr", "System.Single",
        "System.Double", "System.Decimal", "System.Half", "System.Enum", "System.ValueType", "System.Math", "System.MathF", "System.TimeSpan",
        "System.DateTime", "System.DateTimeOffset", "System.DateOnly", "System.TimeOnly", "System.Guid", "System.Index", "System.Range", "System.Uri",
        "System.Version", "System.Type", "System.RuntimeTypeHandle", "System.Delegate", "System.MulticastDelegate", "System.Convert", "System.BitConverter",
        "System.HashCode", "System.IDisposable", "System.IAsyncDisposable", "System.IEquatable`1", "System.IComparable", "System.IComparable`1",
        "System.IFormattable", "System.ISpanFormattable", "System.IFormatProvider", "System.AsyncCallback", "System.StringComparer", "System.TimeProvider",
        "System.AppContext", "System.OperatingSystem", "System.Attribute", "System.Activator", "System.IProgress`1", "System.IObserver`1",
        "System.IObservable`1", "System.DBNull", "System.Array/EmptyArray`1", "System.Buffers.ArrayPool`1", "System.Buffers.Binary.BinaryPrimitives",
        "System.Collections.Generic.KeyValuePair", "System.Collections.Generic.KeyValuePair`2", "System.Collections.Generic.EqualityComparer`1",
        "System.Collections.Generic.IEqualityComparer`1", "System.Collections.Generic.IComparer`1", "System.Collections.Generic.Comparer`1",
        "System.Collections.Generic.ReferenceEqualityComparer", "System.Collections.Generic.IAsyncEnumerable`1",
        "System.Collections.Generic.IAsyncEnumerator`1", "System.Diagnostics.Debug", "System.Diagnostics.TagList", "System.Diagnostics.Tracing.EventSource",
        "System.Text.Encoding", "System.Text.CompositeFormat", "System.Threading.ITimer", "System.Threading.AsyncLocal`1", "System.Threading.ExecutionContext",
        "System.Threading.AsyncFlowControl", "System.Threading.CancellationToken", "System.Threading.SynchronizationContext",
        "System.Threading.IThreadPoolWorkItem", "System.Threading.SendOrPostCallback", "System.Threading.ContextCallback", "System.Threading.WaitCallback",
        "System.Threading.TimerCallback", "System.Threading.ThreadStart", "System.Threading.ParameterizedThreadStart", "System.Threading.Timeout",
        "System.Threading.Tasks.ValueTask", "System.Threading.Tasks.ValueTask`1", "System.Threading.Tasks.Sources.IValueTaskSource",
        "System.Threading.Tasks.Sources.IValueTaskSource`1", "System.Threading.Tasks.TaskAsyncEnumerableExtensions",
    ];

    /// <summary>The same, of all types in a namespace or with such a beginning.</summary>
    private static readonly string[] NothingIn =
    [
        "System.Action", "System.Func`", "System.Comparison`", "System.Predicate`", "System.Converter`", "System.EventHandler", "System.Tuple",
        "System.ValueTuple", "System.Nullable", "System.Globalization.", "System.Numerics.", "System.Reflection.", "System.Runtime.Intrinsics.",
        "System.Runtime.ExceptionServices.", "System.Runtime.Versioning.", "System.Runtime.CompilerServices.", "System.Collections.Frozen.",
        "System.Collections.Immutable.", "System.Threading.Channels.", "System.Threading.Tasks.Dataflow.",
    ];

    /// <summary>Structures of the stack, whose elements are read and written through references, but for methods that do that themselves.</summary>
    private static readonly HashSet<string> Spans =
    [
        "System.Span`1", "System.ReadOnlySpan`1", "System.Memory`1", "System.ReadOnlyMemory`1", "System.ArraySegment`1", "System.MemoryExtensions",
        "System.Span`1/Enumerator", "System.ReadOnlySpan`1/Enumerator", "System.Runtime.InteropServices.MemoryMarshal",
        "System.Runtime.CompilerServices.Unsafe",
    ];

    private static readonly string[] OfSpans =
    [
        ".ctor", "get_Item", "get_Length", "get_IsEmpty", "get_Span", "get_Empty", "get_Array", "get_Offset", "get_Count", "get_Current", "Slice",
        "op_Implicit", "GetEnumerator", "MoveNext", "AsSpan", "AsMemory", "GetReference", "GetArrayDataReference", "GetPinnableReference", "CreateSpan",
        "CreateReadOnlySpan", "Cast", "AsBytes", "As", "AsRef", "Add", "AddByteOffset", "AreSame", "SizeOf", "IsNullRef", "NullRef", "SkipInit", "TryGetArray",
    ];

    /// <summary>Their objects share nothing beyond themselves.</summary>
    private static readonly HashSet<string> Objects =
    [
        "System.Collections.Generic.List`1", "System.Collections.Generic.Dictionary`2", "System.Collections.Generic.HashSet`1",
        "System.Collections.Generic.Queue`1", "System.Collections.Generic.Stack`1", "System.Collections.Generic.LinkedList`1",
        "System.Collections.Generic.SortedDictionary`2", "System.Collections.Generic.SortedSet`1", "System.Collections.Generic.SortedList`2",
        "System.Collections.Generic.PriorityQueue`2", "System.Collections.BitArray", "System.Text.StringBuilder", "System.Random",
        "System.Collections.Concurrent.ConcurrentQueue`1", "System.Collections.Concurrent.ConcurrentStack`1", "System.Collections.Concurrent.ConcurrentBag`1",
        "System.Collections.Concurrent.ConcurrentDictionary`2", "System.Runtime.CompilerServices.ConditionalWeakTable`2",
    ];

    private static readonly HashSet<string> LooksOnly =
    [
        "get_Count", "get_Item", "get_IsEmpty", "get_Length", "get_Chars", "get_Keys", "get_Values", "get_Comparer", "get_First", "get_Last", "get_Min",
        "get_Max", "Contains", "ContainsKey", "ContainsValue", "TryGetValue", "TryPeek", "Peek", "IndexOf", "Find", "FindIndex", "FindAll", "Exists",
        "TrueForAll", "ToArray", "ToString", "GetEnumerator", "GetHashCode", "Equals",
    ];

    /// <summary>What they are called on leads to an object that they read.</summary>
    private static readonly HashSet<string> Readers =
    [
        "System.Linq.Enumerable", "System.Linq.AsyncEnumerable", "System.Collections.IEnumerator", "System.Collections.IEnumerable",
        "System.Collections.Generic.IEnumerator`1", "System.Collections.Generic.IEnumerable`1", "System.Collections.Generic.IReadOnlyCollection`1",
        "System.Collections.Generic.IReadOnlyList`1", "System.Collections.Generic.IReadOnlyDictionary`2", "System.Collections.Generic.LinkedListNode`1",
        "System.Linq.IGrouping`2",
    ];

    /// <summary>Members that share nothing, of types that do.</summary>
    private static readonly HashSet<string> NothingOf =
    [
        "System.Array::Empty", "System.Array::get_Length", "System.Array::GetLength", "System.Environment::get_NewLine",
        "System.Environment::GetEnvironmentVariable", "System.GC::KeepAlive", "System.GC::SuppressFinalize", "System.Lazy`1::.ctor",
        "System.Threading.CancellationTokenSource::.ctor", "System.Threading.CancellationTokenRegistration::get_Token",
        "System.Threading.CancellationTokenRegistration::Equals", "System.Threading.Tasks.Task::get_CompletedTask", "System.Threading.Tasks.Task::get_Factory",
        "System.Threading.Tasks.Task::get_AsyncState", "System.Threading.Tasks.Task::get_CreationOptions", "System.Threading.Tasks.Task::FromResult",
        "System.Threading.Tasks.Task::FromException", "System.Threading.Tasks.Task::FromCanceled", "System.Threading.Tasks.Task::ConfigureAwait",
        "System.Threading.Tasks.Task::GetAwaiter", "System.Threading.Tasks.Task`1::ConfigureAwait", "System.Threading.Tasks.Task`1::GetAwaiter",
        "System.Threading.Tasks.Task`1::get_Factory", "System.Threading.Tasks.TaskScheduler::.ctor", "System.Threading.Tasks.TaskScheduler::get_Id",
    ];

    private static readonly Dictionary<string, string> Members = new()
    {
        ["System.Object::MemberwiseClone"] = nameof(Order.All),
        ["System.Object::ToString"] = nameof(Order.Enumerate),
        ["System.Object::Equals"] = nameof(Order.Enumerate),
        ["System.Object::GetHashCode"] = nameof(Order.Enumerate),
        ["System.Activator::CreateInstance"] = nameof(Order.Unordered),
        ["System.Runtime.CompilerServices.RuntimeHelpers::GetSubArray"] = nameof(Order.Enumerate),
        ["System.Collections.Immutable.ImmutableInterlocked::*"] = nameof(Order.Unordered),
        ["System.Threading.CancellationTokenSource::get_Token"] = nameof(Order.Look),
        ["System.Diagnostics.Metrics.Meter::.ctor"] = nameof(Order.UseInstruments),
        ["System.Diagnostics.Metrics.Meter::Dispose"] = nameof(Order.UseInstruments),
    };

    /// <summary>The method of <see cref="Order"/> that tells what a call may read and change that other threads see; null for nothing.</summary>
    public static string? Of(MethodReference called)
    {
        TypeReference declaring = called.DeclaringType;
        string type = declaring.GetElementType().FullName;
        if (declaring is ArrayType)
        {
            return called.Name switch { "Get" => nameof(Order.Look), "Set" => nameof(Order.Change), ".ctor" => null, _ => nameof(Order.Alias) };
        }

        if (Members.TryGetValue($"{type}::{called.Name}", out string? of) || Members.TryGetValue($"{type}::*", out of) ||
            NothingOf.Contains($"{type}::{called.Name}"))
        {
            return of;
        }

        if (type == "System.Runtime.InteropServices.CollectionsMarshal")
        {
            return nameof(Order.Alias);
        }

        if (type.StartsWith("System.Threading.Tasks.TaskCompletionSource", StringComparison.Ordinal))
        {
            return called.Name is ".ctor" or "get_Task" ? null : nameof(Order.Complete);
        }

        if (type.StartsWith("System.Diagnostics.Metrics.", StringComparison.Ordinal))
        {
            return type.EndsWith("Listener", StringComparison.Ordinal) || called.Name.StartsWith("Create", StringComparison.Ordinal)
                ? nameof(Order.UseInstruments)
                : nameof(Order.LookAtInstruments);
        }

        bool isGivenMany = called.Parameters.Any(static p => IsMany(p.ParameterType));
        if (Spans.Contains(type))
        {
            return OfSpans.Contains(called.Name) ? null : nameof(Order.Unordered);
        }

        if (Objects.Contains(type))
        {
            return called.Name == ".ctor" ? isGivenMany ? nameof(Order.Enumerate) : null
                : isGivenMany || !called.HasThis ? nameof(Order.Unordered)
                : LooksOnly.Contains(called.Name) ? nameof(Order.Look)
                : nameof(Order.Change);
        }

        return Readers.Contains(type) || IsPartOfCollection(type) ? nameof(Order.Enumerate)
            : !SharesNothing(type) ? nameof(Order.Unordered)
            : isGivenMany ? nameof(Order.Enumerate)
            : null;
    }

    /// <summary>Whether a call may call the program under test, with what it is given.</summary>
    public static bool CallsBack(MethodReference called) => called.Parameters.Any(static p =>
        p.ParameterType.Name.Split('`')[0] is "Func" or "Action" or "Predicate" or "Comparison" or "Converter" or "IEnumerable" or "IComparer" or
            "CreateValueCallback");

    private static bool SharesNothing(string type) => Nothing.Contains(type) || type.EndsWith("Exception", StringComparison.Ordinal) ||
        type.EndsWith("Attribute", StringComparison.Ordinal) || type.EndsWith("EventArgs", StringComparison.Ordinal) ||
        (Array.Exists(NothingIn, p => type.StartsWith(p, StringComparison.Ordinal)) && !type.EndsWith("/Builder", StringComparison.Ordinal));

    /// <summary>An enumerator, or the keys or values of a dictionary.</summary>
    private static bool IsPartOfCollection(string type) => type.StartsWith("System.Collections.", StringComparison.Ordinal) &&
        !type.StartsWith("System.Collections.Immutable.", StringComparison.Ordinal) && type.Contains('/', StringComparison.Ordinal);

    private static bool IsMany(TypeReference type) => type is ArrayType || type.Name.Split('`')[0] is
        "Span" or "ReadOnlySpan" or "Memory" or "ReadOnlyMemory" or "IEnumerable" or "ICollection" or "IList" or "IDictionary" or "IReadOnlyList" or
        "IReadOnlyCollection" or "IReadOnlyDictionary" or "List" or "Dictionary" or "HashSet" or "StringBuilder" or "ConcurrentDictionary";
}

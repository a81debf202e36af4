using System.Collections;
using Weir.Lab.Work;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>Makes the workload of a user's code.</summary>
internal static class UserWorkloads
{
    /// <summary>Makes it. None of the user's code runs before its set-up.</summary>
    /// <param name="name">The name in reports.</param>
    /// <param name="assembly">The assembly.</param>
    /// <param name="names">The methods, or the class, by their names.</param>
    /// <param name="values">What is set of it, by name.</param>
    public static IWorkload Create(string name, UserAssembly assembly, IReadOnlyList<string> names, IReadOnlyDictionary<string, string> values)
    {
        UserMember[] members = [.. names.Select(assembly.Find)];
        return members is [{ Method: null } only] ? new ClassWorkload(name, only, values)
            : members.FirstOrDefault(static m => m.Method is null) is { } member
            ? throw new BadInputException($"--groups with --method is for methods; '{member.Name}' is a class, which gets the group of each worker itself.")
            : new MethodWorkload(name, members, values);
    }

    /// <summary>Short names for several members that differ all the same. A member that is there twice has the same one both times.</summary>
    public static IReadOnlyList<string> ShortNames(IReadOnlyList<string> names)
    {
        string[][] parts = [.. names.Select(static n => n.Split('.'))];
        int members = names.Distinct().Count();
        for (int count = 1; ; count++)
        {
            string[] ends = [.. parts.Select(p => string.Join('.', p.TakeLast(count)))];
            if (ends.Distinct().Count() == members || parts.All(p => p.Length <= count))
            {
                return ends;
            }
        }
    }
}

/// <summary>A user's workload. Each failure is reported in one clear sentence.</summary>
internal sealed class ClassWorkload : IWorkload
{
    private readonly string _class;
    private readonly UserObject _plan;
    private IWorkload? _own;

    /// <summary>Creates it. The user's object is made in the set-up.</summary>
    /// <exception cref="Hosting.BadInputException">A parameter cannot be set.</exception>
    public ClassWorkload(string name, UserMember member, IReadOnlyDictionary<string, string> parameters)
    {
        Name = name;
        _class = member.Name;
        _plan = new UserObject(member, parameters);
    }

    public string Name { get; }

    public async ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _own = (IWorkload)(await _plan.CreateAsync())!;
        await UserFailure.CallAsync($"{_class}.{nameof(SetupAsync)}", () => _own.SetupAsync(spec, cancellationToken), cancellationToken);
    }

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken) =>
        UserFailure.CallAsync($"{_class}.{nameof(BeginRoundAsync)}", () => _own!.BeginRoundAsync(cancellationToken), cancellationToken);

    public Operation CreateOperation(WorkerContext context)
    {
        try
        {
            return _own!.CreateOperation(context) ?? throw new InvalidOperationException("It returned null.");
        }
        catch (Exception e)
        {
            throw UserFailure.Of($"{_class}.{nameof(CreateOperation)}", e);
        }
    }

    // The message of an exception in a check is its finding.
    public string? Check(RoundTotals round)
    {
        try
        {
            return _own!.Check(round);
        }
        catch (Exception e)
        {
            return UserFailure.Of($"{_class}.{nameof(Check)}", e).Message;
        }
    }

    public async ValueTask CleanupAsync()
    {
        if (_own is not { } own)
        {
            return;
        }

        await UserFailure.CallAsync($"{_class}.{nameof(CleanupAsync)}", own.CleanupAsync, CancellationToken.None);
        await UserFailure.CallAsync($"Disposing of {_class}", () => UserFailure.DisposeAsync(own), CancellationToken.None);
    }
}

/// <summary>Methods of a user's assembly, one for each group of workers. All workers share one object of a class that has instance methods.</summary>
internal sealed class MethodWorkload : IWorkload
{
    private readonly Dictionary<string, UserMember> _methods = [];
    private readonly Dictionary<(Type Type, bool HasObject), UserObject> _plans = [];
    private readonly Dictionary<Type, object?> _objects = [];

    /// <summary>Creates it.</summary>
    /// <exception cref="BadInputException">There are two of one name, or a parameter cannot be set.</exception>
    public MethodWorkload(string name, IReadOnlyList<UserMember> methods, IReadOnlyDictionary<string, string> parameters)
    {
        Name = name;
        foreach (UserMember method in methods)
        {
            if (!_methods.TryAdd(method.Method!.Name, method))
            {
                throw new BadInputException($"--method has two methods called '{method.Method.Name}'; groups of workers need different names.");
            }

            _plans.TryAdd((method.Type, method.HasObject), new UserObject(method, parameters));
        }
    }

    public string Name { get; }

    public async ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        if (_methods.Count > 1 && spec.Groups.FirstOrDefault(g => !_methods.ContainsKey(g.Name)) is { } unknown)
        {
            throw new BadInputException(
                $"--groups must name the methods, as in {string.Join(',', _methods.Keys.Select(static m => m + ":1"))}; it has '{unknown.Name}'.");
        }

        foreach (((Type type, bool hasObject), UserObject plan) in _plans)
        {
            object? made = await plan.CreateAsync();
            if (hasObject)
            {
                _objects[type] = made;
            }
        }
    }

    public Operation CreateOperation(WorkerContext context)
    {
        UserMember method = _methods.Count == 1 ? _methods.Values.First() : _methods[context.Group];
        return MethodOperations.Of(method.Method!, method.HasObject ? _objects[method.Type] : null, context.Stopping);
    }

    public async ValueTask CleanupAsync()
    {
        foreach (object? used in _objects.Values)
        {
            await UserFailure.CallAsync($"Disposing of {UserMember.NameOf(used!.GetType())}", () => UserFailure.DisposeAsync(used), CancellationToken.None);
        }
    }
}

/// <summary>
/// Creates operations from methods of any shape. The delegate is bound to the method itself: nothing lies between the loop and the user's code, unless that
/// returns a lazy sequence, which is read to its end.
/// </summary>
internal static class MethodOperations
{
    /// <summary>Makes an operation.</summary>
    /// <param name="method">The method, without parameters or with a token.</param>
    /// <param name="target">The object; <see langword="null"/> for a static method.</param>
    /// <param name="stop">The token that it gets, if it takes one.</param>
    public static Operation Of(MethodInfo method, object? target, CancellationToken stop)
    {
        bool takesToken = method.GetParameters().Length == 1;
        Type result = method.ReturnType;
        Type type = result == typeof(void) ? (takesToken ? typeof(Action<CancellationToken>) : typeof(Action))
            : takesToken ? typeof(Func<,>).MakeGenericType(typeof(CancellationToken), result)
            : typeof(Func<>).MakeGenericType(result);
        Delegate call = target is null ? method.CreateDelegate(type) : method.CreateDelegate(type, target);
        Delegate own = !takesToken ? call
            : call is Action<CancellationToken> action ? () => action(stop)
            : (Delegate)typeof(MethodOperations).GetMethod(nameof(With), BindingFlags.NonPublic | BindingFlags.Static)!
                .MakeGenericMethod(result).Invoke(null, [call, stop])!;
        return DelegateOperations.Of(LazyResults.Read(own, result));
    }

    private static Func<T> With<T>(Func<CancellationToken, T> call, CancellationToken stop) => () => call(stop);
}

/// <summary>
/// Results that do nothing until they are read, so that a call alone would be timed as nothing: what is declared as a sequence is read to its end, as whoever
/// calls the method would do.
/// </summary>
internal static class LazyResults
{
    private const BindingFlags Own = BindingFlags.NonPublic | BindingFlags.Static;

    /// <summary>The delegate itself; or one that calls it, reads the sequence that it returns, and returns the number of its elements.</summary>
    /// <param name="call">The delegate, without parameters.</param>
    /// <param name="result">What it returns.</param>
    public static Delegate Read(Delegate call, Type result)
    {
        Type? task = result.IsGenericType && result.GetGenericTypeDefinition() is { } form && (form == typeof(Task<>) || form == typeof(ValueTask<>)) ? form : null;
        Type sequence = task is null ? result : result.GenericTypeArguments[0];
        if (ElementOf(sequence, out bool isAsync) is not { } element)
        {
            return call;
        }

        string name = (task, isAsync) switch
        {
            (null, false) => nameof(Sequence),
            (null, true) => nameof(AsyncSequence),
            (_, false) => task == typeof(Task<>) ? nameof(TaskOfSequence) : nameof(ValueTaskOfSequence),
            (_, true) => task == typeof(Task<>) ? nameof(TaskOfAsyncSequence) : nameof(ValueTaskOfAsyncSequence),
        };
        return (Delegate)typeof(LazyResults).GetMethod(name, Own)!.MakeGenericMethod(sequence, element).Invoke(null, [call])!;
    }

    // Interfaces alone: a class that can be enumerated, such as a reader of a database, may be something else first of all.
    private static Type? ElementOf(Type type, out bool isAsync)
    {
        isAsync = false;
        if (!type.IsInterface && !(type.IsGenericType && type.GetGenericTypeDefinition() == typeof(ParallelQuery<>)))
        {
            return null;
        }

        Type[] all = [type, .. type.GetInterfaces()];
        if (Of(typeof(IAsyncEnumerable<>)) is { } later)
        {
            isAsync = true;
            return later;
        }

        return all.Any(static i => i == typeof(ICollection)) || Of(typeof(ICollection<>)) is not null || Of(typeof(IReadOnlyCollection<>)) is not null ? null
            : Of(typeof(IEnumerable<>)) ?? (all.Contains(typeof(IEnumerable)) ? typeof(object) : null);

        Type? Of(Type form) => Array.Find(all, i => i.IsGenericType && i.GetGenericTypeDefinition() == form)?.GenericTypeArguments[0];
    }

    private static Func<long> Sequence<TSequence, T>(Func<TSequence> call)
        where TSequence : IEnumerable => () => Count<T>(call());

    private static Func<ValueTask<long>> AsyncSequence<TSequence, T>(Func<TSequence> call)
        where TSequence : IAsyncEnumerable<T> => () => CountAsync(call());

    private static Func<ValueTask<long>> TaskOfSequence<TSequence, T>(Func<Task<TSequence>> call)
        where TSequence : IEnumerable => async () => Count<T>(await call().ConfigureAwait(false));

    private static Func<ValueTask<long>> ValueTaskOfSequence<TSequence, T>(Func<ValueTask<TSequence>> call)
        where TSequence : IEnumerable => async () => Count<T>(await call().ConfigureAwait(false));

    private static Func<ValueTask<long>> TaskOfAsyncSequence<TSequence, T>(Func<Task<TSequence>> call)
        where TSequence : IAsyncEnumerable<T> => async () => await CountAsync(await call().ConfigureAwait(false)).ConfigureAwait(false);

    private static Func<ValueTask<long>> ValueTaskOfAsyncSequence<TSequence, T>(Func<ValueTask<TSequence>> call)
        where TSequence : IAsyncEnumerable<T> => async () => await CountAsync(await call().ConfigureAwait(false)).ConfigureAwait(false);

    private static long Count<T>(IEnumerable? sequence)
    {
        long count = 0;
        T last = default!;
        if (sequence is IEnumerable<T> typed)
        {
            foreach (T element in typed)
            {
                last = element;
                count++;
            }
        }
        else if (sequence is not null)
        {
            foreach (object? _ in sequence)
            {
                count++;
            }
        }

        Sink.Consume(last);
        return count;
    }

    private static async ValueTask<long> CountAsync<T>(IAsyncEnumerable<T>? sequence)
    {
        long count = 0;
        T last = default!;
        if (sequence is not null)
        {
            await foreach (T element in sequence.ConfigureAwait(false))
            {
                last = element;
                count++;
            }
        }

        Sink.Consume(last);
        return count;
    }
}

/// <summary>
/// How to create an object of a user's class, or set up a class with static methods: the constructor and the values. Everything is checked before any of the
/// user's code runs.
/// </summary>
internal sealed class UserObject
{
    private readonly Type _type;
    private readonly ConstructorInfo? _constructor;
    private readonly object?[] _arguments;
    private readonly List<(MemberInfo Member, object Value)> _values = [];

    /// <summary>Creates the plan.</summary>
    /// <param name="member">What is measured.</param>
    /// <param name="parameters">The parameters by name, whatever its case.</param>
    /// <exception cref="BadInputException">There is no such parameter or no constructor that can be used, or a value does not fit.</exception>
    public UserObject(UserMember member, IReadOnlyDictionary<string, string> parameters)
    {
        _type = member.Type;
        MemberInfo[] members = Settable(_type, member.HasObject);
        ConstructorInfo[] constructors = member.HasObject ? [.. _type.GetConstructors().OrderBy(static c => c.GetParameters().Length)] : [];
        string[] known = [.. constructors.SelectMany(static c => c.GetParameters())
            .Where(static p => UserParameter.CanRead(p.ParameterType))
            .Select(static p => p.Name!)
            .Concat(members.Select(static m => m.Name))
            .Distinct(StringComparer.OrdinalIgnoreCase)];
        foreach (string name in parameters.Keys.Where(n => !known.Contains(n, StringComparer.OrdinalIgnoreCase)))
        {
            throw new BadInputException($"--param '{name}': {UserMember.NameOf(_type)} has no such {(member.HasObject ? "" : "static ")}parameter; "
                + $"{Known(name, known, member.HasObject)}.");
        }

        _constructor = constructors.FirstOrDefault(c => Fits(c, parameters) && parameters.Keys.All(n => Takes(c, n) || members.Any(m => Is(m.Name, n))));
        if (member.HasObject && _constructor is null)
        {
            throw new BadInputException($"--method '{member.Name}': {UserMember.NameOf(_type)} has no public constructor whose parameters all have a default "
                + $"or are set with --param{Missing(constructors, parameters)}.");
        }

        _arguments = [.. _constructor?.GetParameters().Select(
            p => Given(parameters, p.Name!) is { } given ? UserParameter.Read(p.ParameterType, given) : p.DefaultValue) ?? []];
        foreach (string name in parameters.Keys.Where(n => _constructor is null || !Takes(_constructor, n)))
        {
            MemberInfo settable = members.First(m => Is(m.Name, name));
            _values.Add((settable, UserParameter.Read(TypeOf(settable), Given(parameters, name)!)));
        }
    }

    /// <summary>Makes the object, and sets its values; without a constructor it only sets those of the class.</summary>
    /// <exception cref="InvalidOperationException">The user's code threw. An object whose values could not be set is disposed of.</exception>
    public async ValueTask<object?> CreateAsync()
    {
        object? made = null;
        try
        {
            made = _constructor?.Invoke(_arguments);
            foreach ((MemberInfo member, object value) in _values)
            {
                if (member is PropertyInfo property)
                {
                    property.SetValue(made, value);
                }
                else
                {
                    ((FieldInfo)member).SetValue(made, value);
                }
            }

            return made;
        }
        catch (TargetInvocationException e) when (e.InnerException is { } inner)
        {
            try
            {
                await UserFailure.DisposeAsync(made);
            }
            catch (Exception)
            {
                // What failed first is told.
            }

            throw UserFailure.Of($"Making an object of {UserMember.NameOf(_type)}", inner);
        }
    }

    private static MemberInfo[] Settable(Type type, bool hasObject)
    {
        BindingFlags flags = BindingFlags.Public | (hasObject ? BindingFlags.Instance : BindingFlags.Static | BindingFlags.FlattenHierarchy);
        return
        [
            .. type.GetProperties(flags)
                .Where(static p => p.SetMethod is { IsPublic: true } && p.GetIndexParameters().Length == 0 && UserParameter.CanRead(p.PropertyType)),
            .. type.GetFields(flags).Where(static f => !f.IsInitOnly && !f.IsLiteral && UserParameter.CanRead(f.FieldType)),
        ];
    }

    private static bool Fits(ConstructorInfo constructor, IReadOnlyDictionary<string, string> parameters) =>
        constructor.GetParameters().All(p => p.HasDefaultValue || (Given(parameters, p.Name!) is not null && UserParameter.CanRead(p.ParameterType)));

    private static bool Takes(ConstructorInfo constructor, string name) => constructor.GetParameters().Any(p => Is(p.Name!, name));

    private static bool Is(string member, string name) => member.Equals(name, StringComparison.OrdinalIgnoreCase);

    private static OptionValue? Given(IReadOnlyDictionary<string, string> parameters, string name) =>
        parameters.Keys.FirstOrDefault(k => Is(k, name)) is { } key ? new OptionValue($"--param {key}", parameters[key]) : null;

    private static Type TypeOf(MemberInfo member) => member is PropertyInfo property ? property.PropertyType : ((FieldInfo)member).FieldType;

    private static string Known(string name, string[] known, bool hasObject) => known.Length == 0
        ? hasObject
            ? "it has none: a parameter is a public property that can be set, or one of the constructor's"
            : "it has none: of a static method, a parameter is a static property of its class that can be set"
        : $"the nearest {(NearestNames.Of(name, known) is var near && near.Count == 1 ? "is" : "are")} {string.Join(", ", near)}";

    private static string Missing(ConstructorInfo[] constructors, IReadOnlyDictionary<string, string> parameters) =>
        constructors.Length == 0 ? "" : $"; the smallest needs {string.Join(", ", MissingOf(constructors[0], parameters))}";

    private static IEnumerable<string> MissingOf(ConstructorInfo constructor, IReadOnlyDictionary<string, string> parameters) =>
        constructor.GetParameters()
            .Where(p => !p.HasDefaultValue && Given(parameters, p.Name!) is null)
            .Select(static p => $"{p.Name} ({UserParameter.NameOf(p.ParameterType)})");
}

/// <summary>The message when a user's code throws outside the measurement.</summary>
internal static class UserFailure
{
    /// <summary>One sentence of what threw.</summary>
    public static InvalidOperationException Of(string what, Exception error) => new($"{what} failed with {error.GetType().Name}: {error.Message}", error);

    /// <summary>Calls the user's code, and reports failures.</summary>
    /// <exception cref="InvalidOperationException">It threw.</exception>
    /// <exception cref="OperationCanceledException">It was stopped.</exception>
    public static async ValueTask CallAsync(string what, Func<ValueTask> call, CancellationToken stop)
    {
        try
        {
            await call();
        }
        catch (Exception e) when (!(e is OperationCanceledException && stop.IsCancellationRequested))
        {
            throw Of(what, e);
        }
    }

    public static async ValueTask DisposeAsync(object? used)
    {
        if (used is IAsyncDisposable later)
        {
            await later.DisposeAsync();
        }
        else
        {
            (used as IDisposable)?.Dispose();
        }
    }
}

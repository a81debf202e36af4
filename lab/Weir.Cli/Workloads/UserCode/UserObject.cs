namespace Weir.Cli.Workloads.UserCode;

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

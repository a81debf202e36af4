namespace Weir.Cli.Workloads.UserCode;

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

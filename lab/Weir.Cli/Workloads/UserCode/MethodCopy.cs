namespace Weir.Cli.Workloads.UserCode;

/// <summary>The measured methods as they were loaded once, and the objects that have them.</summary>
internal sealed class MethodCopy
{
    private readonly Dictionary<string, UserMember> _methods = [];
    private readonly Dictionary<(Type Type, bool HasObject), UserObject> _plans = [];
    private readonly Dictionary<Type, object?> _objects = [];

    /// <summary>Creates it. None of the user's code runs.</summary>
    /// <exception cref="BadInputException">There are two of one name, or a parameter cannot be set.</exception>
    public MethodCopy(IReadOnlyList<UserMember> methods, IReadOnlyDictionary<string, string> parameters)
    {
        foreach (UserMember method in methods)
        {
            if (!_methods.TryAdd(method.Method!.Name, method))
            {
                throw new BadInputException($"--method has two methods called '{method.Method.Name}'; groups of workers need different names.");
            }

            _plans.TryAdd((method.Type, method.HasObject), new UserObject(method, parameters));
        }
    }

    /// <summary>Makes the objects for a run.</summary>
    /// <exception cref="BadInputException">A group of the run is none of the methods.</exception>
    /// <exception cref="InvalidOperationException">The user's code threw.</exception>
    public void SetUp(WorkerRunSpec spec)
    {
        if (_methods.Count > 1 && spec.Groups.FirstOrDefault(g => !_methods.ContainsKey(g.Name)) is { } unknown)
        {
            throw new BadInputException(
                $"--groups must name the methods, as in {string.Join(',', _methods.Keys.Select(static m => m + ":1"))}; it has '{unknown.Name}'.");
        }

        MakeObjects();
    }

    /// <summary>Makes the objects.</summary>
    /// <exception cref="InvalidOperationException">The user's code threw.</exception>
    public void MakeObjects()
    {
        foreach (((Type type, bool hasObject), UserObject plan) in _plans)
        {
            object? made = plan.Create();
            if (hasObject)
            {
                _objects[type] = made;
            }
        }
    }

    /// <summary>The operation of a worker: the method of its group.</summary>
    public Operation CreateOperation(WorkerContext context)
    {
        UserMember method = _methods.Count == 1 ? _methods.Values.First() : _methods[context.Group];
        return MethodOperations.Of(method.Method!, method.HasObject ? _objects[method.Type] : null, context.Stopping);
    }

    /// <summary>Disposes of the objects.</summary>
    public async Task CleanUpAsync()
    {
        foreach (object? used in _objects.Values)
        {
            await UserFailure.CallAsync($"Disposing of {UserMember.NameOf(used!.GetType())}", () => UserFailure.DisposeAsync(used), CancellationToken.None);
        }
    }
}

using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>The methods that rewritten code calls beside the replacements, and how it calls them.</summary>
internal sealed class PointCalls(ModuleDefinition module)
{
    private readonly Dictionary<(Type, string), MethodReference> _known = [];

    public MethodReference NewAction { get; } = module.ImportReference(typeof(Action).GetConstructors()[0]);

    public MethodReference this[string name] => Of(typeof(Points), name);

    /// <summary>A generic method of one parameter.</summary>
    public MethodReference Closed(Type type, string name, TypeReference argument) => Closed(Of(type, name), [argument]);

    public MethodReference Of(Type type, string name) =>
        _known.TryGetValue((type, name), out MethodReference? known) ? known : _known[(type, name)] = module.ImportReference(type.GetMethod(name));

    /// <summary>A method for these arguments; one that is not generic as it is.</summary>
    public static MethodReference Closed(MethodReference method, TypeReference[] arguments) =>
        arguments.Length == 0 ? method : With(new GenericInstanceMethod(method), arguments);

    /// <summary>A type as it is where a member of it, or with it, is used.</summary>
    public TypeReference TypeOf(TypeReference type, MemberReference used) => type switch
    {
        RequiredModifierType modified => TypeOf(modified.ElementType, used),
        GenericParameter { Type: GenericParameterType.Type } parameter when used.DeclaringType is GenericInstanceType owner =>
            owner.GenericArguments[parameter.Position],
        GenericParameter { Type: GenericParameterType.Method } parameter when used is GenericInstanceMethod method =>
            method.GenericArguments[parameter.Position],
        ByReferenceType reference => new ByReferenceType(TypeOf(reference.ElementType, used)),
        ArrayType array => new ArrayType(TypeOf(array.ElementType, used), array.Rank),
        GenericInstanceType instance => With(new GenericInstanceType(instance.ElementType), instance.GenericArguments.Select(a => TypeOf(a, used))),
        _ => module.ImportReference(type),
    };

    /// <summary>Lets an access to a field go through methods of <see cref="Stores"/>, which get the site if there is one.</summary>
    public void Field(ILProcessor il, Instruction access, string read, string write, string? site)
    {
        var field = (FieldReference)access.Operand;
        TypeReference type = TypeOf(field.FieldType, field);
        bool writes = access.OpCode.Code is Code.Stfld or Code.Stsfld;
        OpCode address = access.OpCode.Code is Code.Ldsfld or Code.Stsfld ? OpCodes.Ldsflda : OpCodes.Ldflda;
        il.InsertAfter(access, il.Create(OpCodes.Call, Closed(typeof(Stores), writes ? write : read, type)));
        if (site is not null)
        {
            il.InsertAfter(access, il.Create(OpCodes.Ldstr, site));
        }

        if (!writes)
        {
            access.OpCode = address;
            return;
        }

        VariableDefinition value = il.Local(type);
        il.InsertAfter(access, il.Create(OpCodes.Ldloc, value));
        il.InsertAfter(access, il.Create(address, field));
        (access.OpCode, access.Operand) = (OpCodes.Stloc, value);
    }

    /// <summary>Calls a hook before a call, and after it too if asked for, with one of its arguments, of a type: 0 is what it is called on.</summary>
    public void Tell(ILProcessor il, Instruction first, MethodReference hook, bool after = false, int argument = 0, TypeReference? type = null)
    {
        Instruction call = Instructions.Last(first);
        var called = (MethodReference)call.Operand;
        VariableDefinition[] above = [.. called.Parameters.Skip(argument).Select(p => il.Local(TypeOf(p.ParameterType, called)))];
        foreach (VariableDefinition other in above.Reverse())
        {
            il.InsertBefore(first, il.Create(OpCodes.Stloc, other));
        }

        if (after)
        {
            VariableDefinition told = il.Local(type ?? module.TypeSystem.Object);
            il.InsertBefore(first, il.Create(OpCodes.Dup));
            il.InsertBefore(first, il.Create(OpCodes.Stloc, told));
            il.InsertAfter(call, il.Create(OpCodes.Call, hook));
            il.InsertAfter(call, il.Create(OpCodes.Ldloc, told));
        }

        il.InsertBefore(first, il.Create(OpCodes.Dup));
        il.InsertBefore(first, il.Create(OpCodes.Call, hook));
        foreach (VariableDefinition other in above)
        {
            il.InsertBefore(first, il.Create(OpCodes.Ldloc, other));
        }
    }

    private static T With<T>(T generic, IEnumerable<TypeReference> arguments)
        where T : IGenericInstance
    {
        foreach (TypeReference argument in arguments)
        {
            generic.GenericArguments.Add(argument);
        }

        return generic;
    }
}

using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>Where stores are seen late: lets volatile accesses, and plain ones of the same fields, go through the store buffers.</summary>
internal sealed class AccessRewriter(ModuleDefinition module, PointCalls points)
{
    private readonly HashSet<string> _fields = [.. module.GetTypes().SelectMany(static t => t.Methods).Where(static m => m.HasBody).SelectMany(Addressed)];

    /// <summary>An access without a point of its own, to a field that others write as a volatile one.</summary>
    public bool IsSeen(Instruction access, MethodDefinition method) =>
        access.Operand is FieldReference field && _fields.Contains(field.FullName) && CanBeAddressed(access, field, method);

    /// <summary>Changes an access to a field.</summary>
    public void Field(ILProcessor il, Instruction access)
    {
        var field = (FieldReference)access.Operand;
        TypeReference type = Close(field.FieldType, field.DeclaringType as GenericInstanceType, null);
        bool isStatic = access.OpCode.Code is Code.Ldsfld or Code.Stsfld;
        OpCode address = isStatic ? OpCodes.Ldsflda : OpCodes.Ldflda;
        if (access.OpCode.Code is Code.Stfld or Code.Stsfld)
        {
            VariableDefinition value = Local(il, type);
            (access.OpCode, access.Operand) = (OpCodes.Stloc, value);
            il.InsertAfter(access, il.Create(OpCodes.Call, Of(points.Of(typeof(Stores), nameof(Stores.Write)), type)));
            il.InsertAfter(access, il.Create(OpCodes.Ldloc, value));
            il.InsertAfter(access, il.Create(address, field));
        }
        else
        {
            access.OpCode = address;
            il.InsertAfter(access, il.Create(OpCodes.Call, Of(points.Of(typeof(Stores), nameof(Stores.Read)), type)));
        }
    }

    /// <summary>Changes a call of <c>Volatile.Read</c> or <c>Volatile.Write</c>.</summary>
    public void Volatile(Instruction call)
    {
        var called = (MethodReference)call.Operand;
        if (called.Parameters.Count > 0)
        {
            TypeReference type = Close(((ByReferenceType)called.Parameters[0].ParameterType).ElementType, null, called as GenericInstanceMethod);
            call.Operand = Of(called.Name == "Read" ? points.Of(typeof(Stores), nameof(Stores.Read)) : points.Of(typeof(Stores), nameof(Stores.Write)), type);
        }
    }

    /// <summary>What comes before a call of <c>Interlocked</c>: the address is below the other arguments.</summary>
    public void Atomic(ILProcessor il, Instruction call)
    {
        var called = (MethodReference)call.Operand;
        if (called.Name == "MemoryBarrierProcessWide")
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Stores), nameof(Stores.BarrierProcessWide))));
        }

        if (called.Parameters.Count == 0)
        {
            return;
        }

        VariableDefinition[] others = [.. called.Parameters.Skip(1).Select(p => Local(il, Close(p.ParameterType, null, called as GenericInstanceMethod)))];
        foreach (VariableDefinition other in others.Reverse())
        {
            il.InsertBefore(call, il.Create(OpCodes.Stloc, other));
        }

        il.InsertBefore(call, il.Create(OpCodes.Dup));
        il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Stores), nameof(Stores.Touch))));
        foreach (VariableDefinition other in others)
        {
            il.InsertBefore(call, il.Create(OpCodes.Ldloc, other));
        }
    }

    private static VariableDefinition Local(ILProcessor il, TypeReference type)
    {
        VariableDefinition local = new(type);
        il.Body.Variables.Add(local);
        il.Body.InitLocals = true;
        return local;
    }

    private static IEnumerable<string> Addressed(MethodDefinition method)
    {
        bool writes = method.Body.Instructions.Any(static i =>
            i.Operand is MethodReference { Name: "Write", DeclaringType.FullName: "System.Threading.Volatile" });
        return writes
            ? method.Body.Instructions.Where(static i => i.OpCode.Code is Code.Ldflda or Code.Ldsflda).Select(static i => ((FieldReference)i.Operand).FullName)
            : [];
    }

    /// <summary>Whether what the field is read from is an object or an address, and not a structure on the stack.</summary>
    public static bool CanBeAddressed(Instruction access, FieldReference field, MethodDefinition method) =>
        access.OpCode.Code is Code.Stfld or Code.Stsfld or Code.Ldsfld || (access.OpCode.Code == Code.Ldfld && (!field.DeclaringType.IsValueType
            || (method.HasThis && Before(access)?.OpCode.Code == Code.Ldarg_0)
            || Before(access)?.OpCode.Code is Code.Ldflda or Code.Ldsflda or Code.Ldloca or Code.Ldloca_S or Code.Ldarga or Code.Ldarga_S));

    /// <summary>What is before an access and its prefixes, such as that of a volatile one.</summary>
    private static Instruction? Before(Instruction access)
    {
        Instruction? before = access.Previous;
        while (before is { OpCode.OpCodeType: OpCodeType.Prefix })
        {
            before = before.Previous;
        }

        return before;
    }

    private static GenericInstanceMethod Of(MethodReference method, TypeReference type) => new(method) { GenericArguments = { type } };

    /// <summary>A type as it is where the member is used.</summary>
    private TypeReference Close(TypeReference type, GenericInstanceType? owner, GenericInstanceMethod? method) => type switch
    {
        RequiredModifierType modified => Close(modified.ElementType, owner, method),
        GenericParameter { Type: GenericParameterType.Type } parameter when owner is not null => owner.GenericArguments[parameter.Position],
        GenericParameter { Type: GenericParameterType.Method } parameter when method is not null => method.GenericArguments[parameter.Position],
        ArrayType array => new ArrayType(Close(array.ElementType, owner, method), array.Rank),
        GenericInstanceType instance => Closed(instance, owner, method),
        _ => module.ImportReference(type),
    };

    private GenericInstanceType Closed(GenericInstanceType instance, GenericInstanceType? owner, GenericInstanceMethod? method)
    {
        GenericInstanceType closed = new(instance.ElementType);
        foreach (TypeReference argument in instance.GenericArguments)
        {
            closed.GenericArguments.Add(Close(argument, owner, method));
        }

        return closed;
    }
}

using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>
/// Where stores are seen late, or data races are looked for: lets accesses to memory go through <see cref="Stores"/>, and tells it of operations on objects.
/// </summary>
internal sealed class AccessRewriter(ModuleDefinition module, PointCalls points, bool storeBuffers, RaceRewriter? races, ConflictRewriter? conflicts)
{
    private readonly HashSet<string> _fields = [.. module.GetTypes().SelectMany(static t => t.Methods).Where(static m => m.HasBody).SelectMany(Addressed)];

    public RaceRewriter? Races => races;

    public ConflictRewriter? Conflicts => conflicts;

    /// <summary>How to change a plain access without a point of its own: null if it stays as it is.</summary>
    public Action<ILProcessor, string>? ChangeOf(Instruction access, FieldReference field, MethodDefinition method) =>
        conflicts is not null ? conflicts.ChangeOf(access, field, method, this)
        : !CanBeAddressed(access, field, method) ? null
        : storeBuffers && _fields.Contains(field.FullName) ? (il, site) => Field(il, access, nameof(Stores.ReadPlain), nameof(Stores.WritePlain), site)
        : races?.IsChecked(access, field) is true ? (il, site) => Field(il, access, nameof(Stores.ReadAtOnce), nameof(Stores.WriteAtOnce), site)
        : null;

    /// <summary>Changes an access that has a point.</summary>
    public void Field(ILProcessor il, Instruction access, bool isVolatile, string site)
    {
        if (isVolatile)
        {
            Field(il, access, nameof(Stores.Read), nameof(Stores.Write), null);
        }
        else
        {
            Field(il, access, nameof(Stores.ReadPlain), nameof(Stores.WritePlain), site);
        }
    }

    public void Field(ILProcessor il, Instruction access, string read, string write, string? site)
    {
        var field = (FieldReference)access.Operand;
        TypeReference type = Close(field.FieldType, field.DeclaringType as GenericInstanceType, null);
        bool isStatic = access.OpCode.Code is Code.Ldsfld or Code.Stsfld;
        OpCode address = isStatic ? OpCodes.Ldsflda : OpCodes.Ldflda;
        if (access.OpCode.Code is Code.Stfld or Code.Stsfld)
        {
            VariableDefinition value = Local(il, type);
            (access.OpCode, access.Operand) = (OpCodes.Stloc, value);
            il.InsertAfter(access, il.Create(OpCodes.Call, Of(points.Of(typeof(Stores), write), type)));
            WriteSite();
            il.InsertAfter(access, il.Create(OpCodes.Ldloc, value));
            il.InsertAfter(access, il.Create(address, field));
        }
        else
        {
            access.OpCode = address;
            il.InsertAfter(access, il.Create(OpCodes.Call, Of(points.Of(typeof(Stores), read), type)));
            WriteSite();
        }

        void WriteSite()
        {
            if (site is not null)
            {
                il.InsertAfter(access, il.Create(OpCodes.Ldstr, site));
            }
        }
    }

    /// <summary>Changes an access that names no field: to an element of an array, or through a reference.</summary>
    public void Nameless(ILProcessor il, Instruction access, string site)
    {
        string name = (RaceRewriter.IsRead(access), RaceRewriter.IsElement(access)) switch
        {
            (true, true) => nameof(Stores.ReadElement),
            (false, true) => nameof(Stores.WriteElement),
            (true, false) => conflicts is null ? nameof(Stores.ReadAtOnce) : nameof(Stores.ReadThrough),
            (false, false) => conflicts is null ? nameof(Stores.WriteAtOnce) : nameof(Stores.WriteThrough),
        };
        GenericInstanceMethod call = Of(points.Of(typeof(Stores), name), RaceRewriter.TypeOf(access, module));
        (access.OpCode, access.Operand) = (OpCodes.Ldstr, site);
        il.InsertAfter(access, il.Create(OpCodes.Call, call));
    }

    /// <summary>Calls <paramref name="hook"/> before a call, and after it too if asked for, with what is called on.</summary>
    public void OnReceiver(ILProcessor il, Instruction first, MethodReference hook, bool after = false)
    {
        Instruction call = WithoutPrefixes(first);
        var called = (MethodReference)call.Operand;
        if (after)
        {
            VariableDefinition receiver = Local(il, module.TypeSystem.Object);
            il.InsertAfter(call, il.Create(OpCodes.Call, hook));
            il.InsertAfter(call, il.Create(OpCodes.Ldloc, receiver));
            Below(il, first, called, 0, il.Create(OpCodes.Dup), il.Create(OpCodes.Stloc, receiver), il.Create(OpCodes.Dup), il.Create(OpCodes.Call, hook));
        }
        else
        {
            Below(il, first, called, 0, il.Create(OpCodes.Dup), il.Create(OpCodes.Call, hook));
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
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Order), nameof(Order.Awake))));
            return;
        }

        Below(il, call, called, 1, il.Create(OpCodes.Dup), il.Create(OpCodes.Call, points.Of(typeof(Stores), nameof(Stores.Touch))));
    }

    /// <summary>Instructions before a call, with what is below its last arguments on the stack.</summary>
    public void Below(ILProcessor il, Instruction call, MethodReference called, int from, params ReadOnlySpan<Instruction> instructions)
    {
        VariableDefinition[] others =
        [
            .. called.Parameters.Skip(from).Select(p =>
                Local(il, Close(p.ParameterType, called.DeclaringType as GenericInstanceType, called as GenericInstanceMethod))),
        ];
        foreach (VariableDefinition other in others.Reverse())
        {
            il.InsertBefore(call, il.Create(OpCodes.Stloc, other));
        }

        foreach (Instruction instruction in instructions)
        {
            il.InsertBefore(call, instruction);
        }

        foreach (VariableDefinition other in others)
        {
            il.InsertBefore(call, il.Create(OpCodes.Ldloc, other));
        }
    }

    /// <summary>A type as it is where a call uses it.</summary>
    public TypeReference TypeOf(TypeReference type, MethodReference called) =>
        Close(type, called.DeclaringType as GenericInstanceType, called as GenericInstanceMethod);

    public static VariableDefinition Local(ILProcessor il, TypeReference type)
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
            || IsAddress(Before(access), method)));

    private static bool IsAddress(Instruction? before, MethodDefinition method) => before?.OpCode.Code switch
    {
        Code.Ldflda or Code.Ldsflda or Code.Ldloca or Code.Ldloca_S or Code.Ldarga or Code.Ldarga_S or Code.Ldelema => true,
        Code.Ldloc_0 or Code.Ldloc_1 or Code.Ldloc_2 or Code.Ldloc_3 =>
            method.Body.Variables[before.OpCode.Code - Code.Ldloc_0].VariableType.IsByReference,
        Code.Ldloc or Code.Ldloc_S => ((VariableDefinition)before.Operand).VariableType.IsByReference,
        Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3 when before.OpCode.Code - Code.Ldarg_0 - (method.HasThis ? 1 : 0) is >= 0 and var index =>
            method.Parameters[index].ParameterType.IsByReference,
        Code.Ldarg or Code.Ldarg_S => ((ParameterDefinition)before.Operand).ParameterType.IsByReference,
        Code.Call or Code.Callvirt => ((MethodReference)before.Operand).ReturnType.IsByReference,
        _ => false,
    };

    /// <summary>The call or access behind its prefixes.</summary>
    public static Instruction WithoutPrefixes(Instruction first)
    {
        Instruction found = first;
        while (found.OpCode.OpCodeType == OpCodeType.Prefix)
        {
            found = found.Next;
        }

        return found;
    }

    /// <summary>What is before an access and its prefixes, such as that of a volatile one.</summary>
    public static Instruction? Before(Instruction access)
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
        ByReferenceType reference => new ByReferenceType(Close(reference.ElementType, owner, method)),
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

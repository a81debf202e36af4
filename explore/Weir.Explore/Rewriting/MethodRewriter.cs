using Weir.Explore.Model;
using Mono.Collections.Generic;

namespace Weir.Explore.Rewriting;

/// <summary>Puts points into the methods of one module, and replaces calls.</summary>
internal sealed class MethodRewriter(
    ModuleDefinition module, ReplacementTable table, PointCalls points, AccessRewriter? accesses, Func<FieldReference, bool> isSharedField)
{
    public void Rewrite(MethodDefinition method)
    {
        MethodBody body = method.Body;
        body.SimplifyMacros();
        IDictionary<Instruction, SequencePoint> lines = method.DebugInformation.GetSequencePointMapping();
        string line = $"{method.DeclaringType.Name}.{method.Name}";
        List<(Action<ILProcessor, string> Change, string Site)> changes = [];
        foreach (Instruction instruction in body.Instructions)
        {
            if (lines.TryGetValue(instruction, out SequencePoint? point) && !point.IsHidden)
            {
                line = $"{Path.GetFileName(point.Document.Url.Replace('\\', '/'))}:{point.StartLine}";
            }

            if (ChangeOf(instruction) is { } change)
            {
                changes.Add((change, $"{line} {What(instruction)}"));
            }
        }

        changes.ForEach(c => c.Change(body.GetILProcessor(), c.Site));
        body.OptimizeMacros();
    }

    private static string What(Instruction instruction)
    {
        if (instruction.Operand is null or TypeReference && instruction.OpCode.OpCodeType != OpCodeType.Prefix)
        {
            return $"{(RaceRewriter.IsRead(instruction) ? "read" : "write")} {(RaceRewriter.IsElement(instruction) ? "of an element" : "through a reference")}";
        }

        for (Instruction? next = instruction; next is not null; next = next.Next)
        {
            switch (next.Operand)
            {
                case MethodReference called:
                    return $"{called.DeclaringType.GetElementType().Name}.{called.Name}";
                case FieldReference field:
                    return $"{(next.OpCode.Name.StartsWith('s') ? "write" : "read")} of {field.DeclaringType.GetElementType().Name}.{field.Name}";
                default:
                    break;
            }
        }

        return "";
    }

    private Action<ILProcessor, string>? ChangeOf(Instruction instruction)
    {
        Instruction first = Instructions.First(instruction);
        switch (instruction.Operand)
        {
            case MethodReference called when instruction.OpCode.Code is Code.Call or Code.Callvirt or Code.Newobj:
                return ChangeOfCall(instruction, first, called);
            case FieldReference field when instruction.OpCode.Code is Code.Ldfld or Code.Stfld or Code.Ldsfld or Code.Stsfld:
                bool isVolatile = first.OpCode.Code == Code.Volatile;
                bool isLate = accesses is not null && AccessRewriter.CanBeAddressed(instruction, field);
                return isVolatile || isSharedField(field) ? (il, site) => InsertAccess(il, first, site, isLate, isVolatile)
                    : accesses?.ChangeOf(instruction, field);
            default:
                return accesses?.Races?.IsChecked(instruction) is true || (accesses?.Conflicts is not null && ConflictRewriter.IsTracked(instruction))
                    ? (il, site) => accesses!.Nameless(il, instruction, site)
                    : accesses?.Conflicts?.ChangeOfOther(instruction) is { } change ? change
                    : instruction.OpCode.Code == Code.Volatile && instruction.Next.Operand is not FieldReference
                        ? (il, site) => Insert(il, instruction, site, points[nameof(Points.Step)])
                    : null;
        }
    }

    private Action<ILProcessor, string>? ChangeOfCall(Instruction instruction, Instruction first, MethodReference called)
    {
        bool isNew = instruction.OpCode.Code == Code.Newobj;
        if (instruction.Previous is { OpCode.Code: Code.Constrained, Operand: TypeReference constrained } && IsPlatform(constrained.GetElementType()))
        {
            // A method of an interface, called on a structure of the platform.
            MethodReference ofStructure = new(called.Name, called.ReturnType, constrained) { HasThis = true };
            called = table.MethodFor(ofStructure, isNew: false) is null && AwaitOf(ofStructure) is null ? called : ofStructure;
        }

        bool isOfInterface = instruction.Previous is { OpCode.Code: Code.Constrained } && called.DeclaringType.FullName == "System.IDisposable";

        TypeReference type = called.DeclaringType.GetElementType();
        if (called.DeclaringType is ArrayType && accesses?.Conflicts is { } ofArrays)
        {
            return ChangeOfShared(first, ofArrays.HookOf(instruction, called), isPoint: false);
        }

        if (isOfInterface || !IsPlatform(type))
        {
            bool isLeftAlone = type.Scope is AssemblyNameReference scope && !IsPlatform(type) && RewrittenProgram.IsLeftAlone(scope.Name);
            return accesses?.Conflicts is { } foreign && isLeftAlone
                ? (il, site) => foreign.Foreign(il, Insert(il, first, site, points[nameof(Points.Site)]))
                : null;
        }

        if (AwaitOf(called) is { } awaits)
        {
            return (il, site) => Replace(il, first, site, awaits);
        }

        if (Platform.IsAwaiter(type) && called is { Name: "GetResult", DeclaringType: var awaiter })
        {
            return (il, site) =>
            {
                Instruction call = Insert(il, first, site, points[nameof(Points.Site)]);
                il.InsertBefore(call, il.Create(OpCodes.Dup));
                il.InsertBefore(call, il.Create(OpCodes.Call, points.Closed(typeof(Waits), nameof(Waits.Wait), awaiter)));
            };
        }

        if (isNew && type is { Name: "Meter" or "MeterListener" or "ActivitySource", Namespace: "System.Diagnostics" or "System.Diagnostics.Metrics" })
        {
            MethodReference keep = points.Closed(typeof(Meters), nameof(Meters.Keep), called.DeclaringType);
            return (il, site) => il.InsertAfter(Insert(il, first, site, points[nameof(Points.Site)]), il.Create(OpCodes.Call, keep));
        }

        bool isOrdered = accesses is { Races: not null } or { Conflicts: not null } && RaceRewriter.IsOrdered(called);
        if (table.MethodFor(called, isNew) is { } replacement)
        {
            MethodReference reference = PointCalls.Closed(module.ImportReference(replacement), [.. Arguments(called.DeclaringType), .. Arguments(called)]);
            return (il, site) => Replace(il, first, site, reference, isOrdered ? nameof(Points.OrderedSite) : nameof(Points.Site));
        }

        if (Substituted(type) is { } substitute)
        {
            return table.HasMember(substitute, called)
                ? (il, site) => Insert(il, first, site, points[nameof(Points.Site)])
                : (il, site) => InsertUnknown(il, first, called, site);
        }

        if (Platform.IsUnknown(called))
        {
            return (il, site) => InsertUnknown(il, first, called, site);
        }

        return (accesses is null ? "" : type.FullName) switch
        {
            "System.Threading.Volatile" => (il, site) => accesses!.Volatile(Insert(il, first, site, points[nameof(Points.Access)])),
            "System.Threading.Interlocked" => (il, site) => accesses!.Atomic(il, Insert(il, first, site, points[nameof(Points.Fence)])),
            _ when accesses?.Conflicts is { } conflicts => ChangeOfShared(first, conflicts.HookOf(instruction, called), Platform.IsPoint(called)),
            _ when accesses?.Races?.HookOf(called) is { } hook => (il, site) =>
                hook(il, Insert(il, first, site, Platform.IsPoint(called) ? points[nameof(Points.StepAlone)] : points[nameof(Points.Site)])),
            _ when isOrdered => (il, site) => InsertOrdered(il, first, site),
            _ => Platform.IsPoint(called) ? (il, site) => Insert(il, first, site, points[nameof(Points.Step)]) : null,
        };
    }

    private Action<ILProcessor, string>? ChangeOfShared(Instruction first, Action<ILProcessor, Instruction>? hook, bool isPoint) =>
        hook is null && !isPoint ? null : (il, site) =>
        {
            Instruction moved = Insert(il, first, site, isPoint ? points[nameof(Points.StepAlone)] : points[nameof(Points.Site)]);
            hook?.Invoke(il, moved);
        };

    private void InsertAccess(ILProcessor il, Instruction first, string site, bool isLate, bool isVolatile)
    {
        Instruction access = Insert(il, first, site, isLate ? points[nameof(Points.Access)] : points[nameof(Points.Step)]);
        if (!isLate)
        {
            return;
        }

        access = il.WithoutPrefixes(access);
        if (isVolatile)
        {
            points.Field(il, access, nameof(Stores.Read), nameof(Stores.Write), null);
        }
        else
        {
            points.Field(il, access, nameof(Stores.ReadPlain), nameof(Stores.WritePlain), site);
        }
    }

    private static bool IsPlatform(TypeReference type) => type.Scope is AssemblyNameReference { Name: var name } &&
        (name.StartsWith("System.", StringComparison.Ordinal) || name is "netstandard" or "mscorlib");

    private TypeDefinition? Substituted(TypeReference type) => type.DeclaringType is { } outer
        ? Substituted(outer)?.NestedTypes.FirstOrDefault(t => t.Name == type.Name)
        : table.TypeFor(type.FullName);

    /// <summary>Inserts so that jumps to the instruction come to what is inserted. Returns what is the instruction now.</summary>
    private static Instruction Insert(ILProcessor il, Instruction instruction, string site, MethodReference point)
    {
        Instruction moved = il.Move(instruction);
        (instruction.OpCode, instruction.Operand) = (OpCodes.Ldstr, site);
        il.InsertAfter(instruction, il.Create(OpCodes.Call, point));
        return moved;
    }

    private void InsertUnknown(ILProcessor il, Instruction instruction, MethodReference called, string site)
    {
        string name = $"{called.DeclaringType.GetElementType().FullName}.{called.Name}";
        Instruction moved = Insert(il, instruction, name, points[nameof(Points.Unknown)]);
        il.InsertBefore(moved.Previous, il.Create(OpCodes.Ldstr, site));
    }

    /// <summary>Before and after: what the call runs comes before what sees that it has ended.</summary>
    private void InsertOrdered(ILProcessor il, Instruction first, string site)
    {
        Instruction call = Instructions.Last(Insert(il, first, site, points[nameof(Points.OrderedSite)]));
        il.InsertAfter(call, il.Create(OpCodes.Call, points.Of(typeof(Order), nameof(Order.Platform))));
    }

    private void Replace(ILProcessor il, Instruction first, string site, MethodReference replacement, string point = nameof(Points.Site))
    {
        Instruction call = il.WithoutPrefixes(Insert(il, first, site, points[point]));
        (call.OpCode, call.Operand) = (OpCodes.Call, replacement);
    }

    /// <summary>What is called in place of a method with which a builder, or code of its own, awaits.</summary>
    private MethodReference? AwaitOf(MethodReference called)
    {
        TypeReference type = called.DeclaringType;
        return called.Name switch
        {
            "AwaitOnCompleted" or "AwaitUnsafeOnCompleted" when Platform.IsBuilder(type.GetElementType()) =>
                PointCalls.Closed(points.Of(typeof(Builders), nameof(Builders.Await)), [type, .. Arguments(called)]),
            "OnCompleted" or "UnsafeOnCompleted" when Platform.IsAwaiter(type.GetElementType()) =>
                points.Closed(typeof(Waits), nameof(Waits.OnCompleted), type),
            _ => null,
        };
    }

    private static Collection<TypeReference> Arguments(MemberReference member) => member is IGenericInstance instance ? instance.GenericArguments : [];
}
